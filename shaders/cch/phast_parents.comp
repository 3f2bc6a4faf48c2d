// Parents of the nodes on shortest paths, after all arcs have been replaced. The parent of a node is the tail of the
// first of its incoming arcs that fits its distance, as in path_parents.comp for all nodes. The kernel also clears
// marks[]. Each step has a dispatch: nodes, arcs, marks.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "split.glsl"
#define WORK_BINDING 3
#define MARKS_BINDING 4
#include "unpack.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
const uint AT_ONCE = 4;  // arcs whose reads overlap
layout(std430, binding = 0) readonly restrict buffer Rows { uint first_in[]; };
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs_in[]; };  // tail, weight
layout(std430, binding = 2) readonly restrict buffer Terminals { uvec2 terminals[]; };  // seeds: node, offset

layout(push_constant) uniform Push {
    uint most;
    uint num_nodes;
    uint marks_each;
    uint step;
};

// Store the head of an arc, once.
void keep_head(uint i) {
    uvec4 arc = LIST(most + 2 * i);
    uint head = arc.z % 2 == 0 ? arc.y : arc.x;
    if (MARK_OF(head) != 0 || atomicCompSwap(MARK_OF(head), 0, NONE) != 0) return;
    uint place = atomicAdd(HEADER.num_found, 1);
    if (place >= most) return;
    LIST(place) = uvec4(head, arc.w + LIST(most + 2 * i + 1).z, NONE, place);
    atomicExchange(MARK_OF(head), place + 1);
}

void find_parent(uint place) {
    uint rank = LIST(place).x, distance = LIST(place).y;
    bool is_over = false;
    for (uint i = HEADER.first_seed; i < HEADER.first_seed + HEADER.num_seeds; ++i) {
        is_over = is_over || (terminals[i].x == rank && terminals[i].y == distance);
    }
    uint end = first_in[rank + 1];
    for (uint k = first_in[rank]; k < end && !is_over; k += AT_ONCE) {
        uvec2 arcs[AT_ONCE];
        uint before[AT_ONCE], from[AT_ONCE];
        for (uint i = 0; i < AT_ONCE; ++i) arcs[i] = PAIR(arcs_in, min(k + i, end - 1));
        for (uint i = 0; i < AT_ONCE; ++i) before[i] = arcs[i].x == rank ? 0 : MARK_OF(arcs[i].x);
        for (uint i = 0; i < AT_ONCE; ++i) from[i] = before[i] == 0 ? UNREACHABLE : LIST(before[i] - 1).y;
        for (uint i = 0; i < AT_ONCE && k + i < end; ++i) {
            if (is_over || from[i] == UNREACHABLE || extend(from[i], arcs[i].y) != distance) continue;
            LIST(place).z = k + i;
            LIST(place).w = before[i] - 1;
            is_over = true;
        }
    }
}

void main() {
    uint first = gl_GlobalInvocationID.x, stride = gl_NumWorkGroups.x * WORKGROUP_SIZE, rounds = 0;
    if (step < 2 && HEADER.done != 0) return;  // by an earlier submission
    bool fits = HEADER.num_items <= most && HEADER.has_no_room == 0;
    if (fits && HEADER.is_split == 0 && HEADER.next_item < HEADER.num_items) return;  // there is more to replace
    if (step == 0) {
        for (uint i = first; i < HEADER.num_items && fits; i += stride) keep_head(i);
    } else if (!fits || HEADER.num_found > most) {
        if (first == 0) HEADER.done = 2;
        return;
    }
    if (step == 1) {
        for (uint place = first; place < HEADER.num_found; place += stride) find_parent(place);
    }
    if (step == 2) {
        for (uint place = first; place < HEADER.num_found; place += stride) MARK_OF(LIST(place).x) = 0;
        for (uint i = first; i < HEADER.num_items; i += stride) BITS_OF(LIST(most + 2 * i).z) = 0;
        if (first == 0) atomicMax(HEADER.done, 1);
    }
    // If the device ended loops early, see check_loops in loop.glsl, the result is not valid.
    for (uint i = 0; i < 2 * gl_NumWorkGroups.y; ++i) ++rounds;
    if (rounds < 2) atomicMax(HEADER.done, 2);
}
