// Triangles of customization: a node and two nodes above it. The two are numbered by their places in the node's list:
// the ancestors of its supernode, then the nodes of the supernode above it. Needs distance.glsl and hierarchy.glsl.

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#define WEIGHTS_ACCESS coherent
#include "weights.glsl"
layout(std430, binding = 4) readonly restrict buffer Ancestors { WORDS ancestors[]; };
#ifdef LISTED
// Supernodes that depend on few changes instead of all of them; see affected.glsl.
#include "affected.glsl"
#define ORDER(g) listed[g].x
#define END (begin + state.count[level])
#else
layout(std430, binding = 5) readonly restrict buffer Order { uint order[]; };  // supernodes
#define ORDER(g) order[g]
#define END end
#endif

// Return the number of pairs of `count` nodes.
uint pairs_of(uint count) {
    return count * (count - 1) / 2;
}

// Return the t-th of the pairs (1, 0), (2, 0), (2, 1), (3, 0), ...
uvec2 pair_at(uint t) {
    // Square roots of floats may be one off.
    uint i = uint((1.0 + sqrt(1.0 + 8.0 * float(t))) / 2.0);
    if (i * (i - 1) / 2 > t) --i;
    if (i * (i + 1) / 2 <= t) ++i;
    return uvec2(i, t - i * (i - 1) / 2);
}
