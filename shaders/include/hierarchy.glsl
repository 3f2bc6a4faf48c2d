// A hierarchy, see vkssp/hierarchy: supernodes, and the list of ancestors of each node. Declares bindings 0 to 2.

// The twin of SUPERNODE in vkssp/cch/topology.py.
struct Supernode {
    uint first_node;
    uint size;
    uint first_ancestor;
    uint num_ancestors;
    uint first_arc;
    uint depth;         // nodes above its first one
    uint parent;        // the supernode of its nearest ancestor
    uint parent_place;  // of that in it
    uint level;
};

layout(std430, binding = 0) readonly restrict buffer Supernodes { Supernode supernodes[]; };
layout(std430, binding = 1) readonly restrict buffer SupernodeOf { uint supernode_of[]; };
// What became of the work.
layout(std430, binding = 2) coherent buffer StatusBuffer {
    uint cut_short;
    uint overflow;
} status;

// The first arc of the node at some place in a supernode: those to the supernode's ancestors come first, then those to
// the nodes at the places before.
uint first_arc_of(Supernode s, uint place) {
    return s.first_arc + place * s.num_ancestors + place * (place - 1) / 2;
}

// Some software devices end long loops before their time, see check_loops in loop.glsl. All invocations come here.
void check_loops() {
    uint rounds = 0;
    for (uint i = 0; i < 2 * gl_NumWorkGroups.y; ++i) ++rounds;
    if (rounds < 2) atomicMax(status.cut_short, 1);
}
