// The arcs of a way through a hierarchy. One workgroup, so that what counts them is in shared memory. Needs hierarchy.glsl.
#define WORK_BINDING 5
#define MARKS_BINDING 6
#include "unpack.glsl"

layout(std430, binding = 3) readonly restrict buffer Weights { uint weight[]; };  // of each arc: up, down
layout(std430, binding = 4) readonly restrict buffer Depths { uint ancestor_depth[]; };  // of each supernode's ancestors

shared uint items;  // arcs found

// Keeps an arc, if there is room for it.
void put_arc(uvec4 ends, uvec4 more, uint most) {
    uint place = atomicAdd(items, 1);
    if (place >= most) return;
    list[most + 2 * place] = ends;
    list[most + 2 * place + 1] = more;
}
