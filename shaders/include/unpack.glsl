// A way through a hierarchy as it is unpacked: the nodes that are known to lie on shortest ways, and the arcs that are to
// be replaced by others below them. Needs
// distance.glsl, and WORK_BINDING and MARKS_BINDING defined.

// The twin of HEADER in vkssp/solvers/unpack.py.
layout(std430, binding = WORK_BINDING) coherent buffer WorkBuffer {
    uint done;       // 1: the nodes hang together, 2: they cannot
    uint num_items;  // arcs found
    uint next_item;  // arcs replaced
    uint num_found;  // nodes found
    uint has_no_room;
    uint padding[3];
    // Nodes: position, distance, the arc that it hangs on, the place of that arc's tail. From `most` on arcs: their lower
    // end, their upper end, their word in weight[], the distance of the end that they begin at.
    uvec4 list[];
};
// One more than the place of each position, 0 for none; then a bit for each word of weight[].
layout(std430, binding = MARKS_BINDING) coherent buffer MarksBuffer { uint marks[]; };

const uint NONE = 0xFFFFFFFFu;

// Keeps a node, once.
void find_node(uint position, uint distance, uint most) {
    if (marks[position] != 0 || atomicCompSwap(marks[position], 0, NONE) != 0) return;
    uint place = atomicAdd(num_found, 1);
    if (place >= most) {
        has_no_room = 1;
        return;
    }
    list[place] = uvec4(position, distance, NONE, place);
    atomicExchange(marks[position], place + 1);
}
