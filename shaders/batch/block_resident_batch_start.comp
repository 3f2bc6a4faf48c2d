// Start of searches in the slots that wait for one: only the seeds are reached, and the blocks of the seeds are near.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "block_resident_batch_state.glsl"
#include "block.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 2) const uint BLOCK = 1024;
layout(constant_id = 7) const uint SEEDS = 64;  // of a row at most

layout(std430, binding = 0) restrict buffer StateBuffer {
    Loop loop;
    State state;
};
layout(std430, binding = 1) writeonly restrict buffer Distances { uint dist[]; };
layout(std430, binding = 2) restrict buffer SearchesBuffer { Search searches[]; };
// of each place in the ring: node, offset
layout(std430, binding = 3) readonly restrict buffer Seeds { uvec2 seeds[]; };
layout(std430, binding = 4) writeonly restrict buffer RelaxedWith { uint relaxed_with[]; };
layout(std430, binding = 5) writeonly restrict buffer Blocks { Block blocks[]; };
layout(std430, binding = 6) writeonly restrict buffer Lists { uint lists[]; };
layout(std430, binding = 7) writeonly restrict buffer Written { uvec2 written[]; };

layout(std430, binding = 8) readonly restrict buffer Turnover { uint turnover[]; };  // slots: leaving, then entering

layout(push_constant) uniform Push {
    uint num_nodes;
    uint num_blocks;
    uint num_searches;
    uint ring;
};

shared uvec2 here[SEEDS];

void start(uint number, uint row) {
    uint lid = gl_LocalInvocationIndex, place = row % ring, count = 0, low = UNREACHABLE;
    barrier();
    for (uint i = lid; i < SEEDS; i += WORKGROUP_SIZE) here[i] = seeds[place * SEEDS + i];
    barrier();
    for (; count < SEEDS && here[count].x != UNREACHABLE; ++count) low = min(low, here[count].y);
    for (uint i = gl_GlobalInvocationID.x; i < num_nodes; i += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        uint distance = UNREACHABLE;
        bool has_seed = false;  // whether the block with this number has a seed
        for (uint k = 0; k < count; ++k) {
            if (here[k].x == i) distance = min(distance, here[k].y);
            if (here[k].x / BLOCK == i) has_seed = true;
        }
        dist[number * num_nodes + i] = distance;
        relaxed_with[number * num_nodes + i] = UNREACHABLE;
        if (i >= num_blocks) continue;
        uint block = number * num_blocks + i;
        blocks[block].waiting = UNREACHABLE;
        if (!has_seed) continue;
        lists[loop.step[NEAR_PARITY] * num_searches * num_blocks + atomicAdd(loop.step[NEAR_LENGTH], 1)] = block;
    }
    if (gl_GlobalInvocationID.x != 0) return;
    searches[number].low = low;
    searches[number].threshold = extend(low, state.delta);
    searches[number].far_nearest = UNREACHABLE;
    searches[number].overflow = 0;
    written[place] = uvec2(0);
}

void main() {
    if (loop.step[DONE] != 0) return;  // after a loop that ended early, no result is valid
    if (gl_GlobalInvocationID.x == 0) state.turned = loop.step[ITERATIONS];
    for (uint k = 0; k < state.num_entering; ++k) {
        uint number = turnover[num_searches + k];
        start(number, searches[number].next_row);
    }
}
