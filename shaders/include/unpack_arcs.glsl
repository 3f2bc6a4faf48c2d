// Arcs of a path through a hierarchy. Needs hierarchy.glsl.
#define WORK_BINDING 5
#define MARKS_BINDING 6
#include "unpack.glsl"

#include "weights.glsl"
// of each supernode's ancestors
layout(std430, binding = 4) readonly restrict buffer Depths { WORDS ancestor_depth[]; };

// Store an arc, if there is room, at its place in the order of discovery.
void put_arc(uint place, uvec4 ends, uvec4 more, uint most) {
    if (place >= most) return;
    LIST(most + 2 * place) = ends;
    LIST(most + 2 * place + 1) = more;
}
