// The arcs of a way through a hierarchy. Needs hierarchy.glsl.
#define WORK_BINDING 5
#define MARKS_BINDING 6
#include "unpack.glsl"

layout(std430, binding = 3) readonly restrict buffer Weights { uint weight[]; };  // of each arc: up, down
layout(std430, binding = 4) readonly restrict buffer Depths { uint ancestor_depth[]; };  // of each supernode's ancestors

// Keeps an arc, if there is room for it, at its place in the order in which they are found.
void put_arc(uint place, uvec4 ends, uvec4 more, uint most) {
    if (place >= most) return;
    list[most + 2 * place] = ends;
    list[most + 2 * place + 1] = more;
}
