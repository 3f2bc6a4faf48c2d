// Hierarchy as data, see vkssp/hierarchy: supernodes, and the list of ancestors of each node. Declares bindings 0 to 2.
#include "split.glsl"

// The twin of SUPERNODE in vkssp/cch/topology.py.
struct Supernode {
    uint first_node;
    uint size;
    uint first_ancestor;
    uint num_ancestors;
    uint first_arc;
    uint depth;         // nodes above its first one
    uint parent;        // supernode of its lowest ancestor
    uint parent_place;  // place of the lowest ancestor in the parent
    uint level;
    uint top;           // place of the first node among those at the top, see top.glsl; NO_INDEX if it is not there
};

// SUPERNODE(i) is the i-th supernode.
#ifdef SPLIT_ARRAYS
// A part has fewer items than one of pairs, so that it has no more bytes.
const uint SUPERNODE_BITS = PART_BITS - 3;
layout(std430, binding = 0) readonly restrict buffer Supernodes { uvec2 supernodes[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer SupernodesPart { Supernode items[]; };
#define SUPERNODE(i) SupernodesPart(PART_OF(supernodes, i, SUPERNODE_BITS)).items[IN_PART(i, SUPERNODE_BITS)]
#else
layout(std430, binding = 0) readonly restrict buffer Supernodes { Supernode supernodes[]; };
#define SUPERNODE(i) supernodes[i]
#endif
#ifndef WITHOUT_SUPERNODE_OF  // for kernels that have another buffer there
layout(std430, binding = 1) readonly restrict buffer SupernodeOf { uint supernode_of[]; };
#endif
// Result of the dispatches; some kernels have further words, STATUS_WORDS.
layout(std430, binding = 2) coherent buffer StatusBuffer {
    uint cut_short;
    uint overflow;
#ifdef STATUS_WORDS
    STATUS_WORDS
#endif
} status;

// Return the first arc of the node at a place in a supernode. The arcs to the supernode's ancestors come first, then
// the arcs to the nodes at lower places.
uint first_arc_of(Supernode s, uint place) {
    return s.first_arc + place * s.num_ancestors + place * (place - 1) / 2;
}

// Detect whether the device ended long loops early, as some software devices do, see check_loops in loop.glsl. All
// invocations must call this.
void check_loops() {
    uint rounds = 0;
    for (uint i = 0; i < 2 * gl_NumWorkGroups.y; ++i) ++rounds;
    if (rounds < 2) atomicMax(status.cut_short, 1);
}
