// Buffers for unpacking paths through a hierarchy: the nodes on shortest paths, and the arcs to be replaced by the arcs
// below them. Needs WORK_BINDING and MARKS_BINDING defined.

// The first words are the twin of HEADER in vkssp/cch/unpack.py.
layout(std430, binding = WORK_BINDING) coherent buffer WorkBuffer {
    uint done;       // 1: the nodes have their parents, 2: unpacking failed
    uint num_items;  // arcs found
    uint next_item;  // arcs replaced
    uint num_found;  // nodes found
    uint is_split;   // whether many workgroups replace the arcs from next_item to split_end
    uint split_end;
    uint has_no_room;
    uint unused;
    // Nodes: rank, distance, arc from the parent, place of the parent. From `most` on two vectors for each arc:
    // lower end, upper end, word in weight[], distance of the tail; then supernode of the lower end, depth of the upper
    // end, weight.
    uvec4 list[];
};
// For each rank its place in the list plus one, 0 for none; then a bit for each word of weight[].
layout(std430, binding = MARKS_BINDING) coherent buffer MarksBuffer { uint marks[]; };

const uint NONE = 0xFFFFFFFFu;
