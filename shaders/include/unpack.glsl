// A way through a hierarchy as it is unpacked: the nodes on shortest ways, and the arcs that are to be replaced by others
// below them. Needs WORK_BINDING and MARKS_BINDING defined.

// The twin of HEADER in vkssp/cch/unpack.py.
layout(std430, binding = WORK_BINDING) coherent buffer WorkBuffer {
    uint done;       // 1: the nodes hang together, 2: they cannot
    uint num_items;  // arcs found
    uint next_item;  // arcs replaced
    uint num_found;  // nodes found
    uint is_split;   // whether many workgroups go on with the arcs from next_item to split_end
    uint split_end;
    uint has_no_room;
    uint unused;
    // Nodes: position, distance, the arc that it hangs on, the place of that arc's tail. From `most` on two for each arc:
    // its lower end, its upper end, its word in weight[], the distance of the end that it begins at; the supernode of the
    // lower end, the depth of the upper one, its weight.
    uvec4 list[];
};
// One more than the place of each position, 0 for none; then a bit for each word of weight[].
layout(std430, binding = MARKS_BINDING) coherent buffer MarksBuffer { uint marks[]; };

const uint NONE = 0xFFFFFFFFu;
