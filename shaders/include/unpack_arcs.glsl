// The arcs of a way through a hierarchy. Needs hierarchy.glsl.
#define WORK_BINDING 5
#define MARKS_BINDING 6
#include "unpack.glsl"

layout(std430, binding = 3) readonly restrict buffer Weights { uint weight[]; };  // of each arc: up, down
layout(std430, binding = 4) readonly restrict buffer Depths { uint ancestor_depth[]; };  // of each supernode's ancestors

// Keeps an arc, once, and the node that it leads to.
void find_arc(uint low, uint high, uint word, uint start, uint most, uint num_positions) {
    uint bit = 1 << word % 32;
    if ((atomicOr(marks[num_positions + word / 32], bit) & bit) != 0) return;
    uint place = atomicAdd(num_items, 1);
    if (place >= most) {
        has_no_room = 1;
        return;
    }
    list[most + place] = uvec4(low, high, word, start);
    find_node(word % 2 == 0 ? high : low, start + weight[word], most);
}
