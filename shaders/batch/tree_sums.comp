// Adds to the loads of arcs what goes over them in all trees of a batch of searches, and tells what each search sends. An
// invocation has a node and four searches of each tile. In most trees the same arc leads into the node.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "tree.glsl"

layout(std430, binding = 0) readonly restrict buffer ArcsInto { uvec4 arc_into[]; };
layout(std430, binding = 1) readonly restrict buffer States { uvec4 state[]; };
layout(std430, binding = 2) readonly restrict buffer Flows { uint flow[]; };
layout(std430, binding = 3) coherent restrict buffer Loads { uint loads[]; };        // two words by place of arcs by head
layout(std430, binding = 4) coherent restrict buffer Finished { uint finished[]; };  // what is sent and missed

layout(push_constant) uniform Push {
    uint num_rows;
    uint num_tiles;
    uint num_searches;
};

void add(inout uvec2 sum, uvec2 more) {
    sum.x += more.x;
    sum.y += more.y + uint(sum.x < more.x);
}

void flush(uint arc, uvec2 sum) {
    if (arc == NO_ARC || (sum.x | sum.y) == 0) return;
    uint before = atomicAdd(loads[2 * arc], sum.x), high = sum.y + uint(before + sum.x < before);
    if (high != 0) atomicAdd(loads[2 * arc + 1], high);
}

void main() {
    const uint QUADS = SEARCHES / 4;
    uint count = num_rows * QUADS, stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint at = gl_GlobalInvocationID.x; at < count; at += stride) {
        uint last = NO_ARC;
        uvec2 sum = uvec2(0);
        for (uint tile = 0; tile < num_tiles; ++tile) {
            uint here = tile * num_rows * QUADS + at;
            uvec4 arc = arc_into[here], word = state[here];
            for (uint i = 0; i < 4; ++i) {
                uint place = (4 * here + i) * FLOW_WORDS, search = (tile * QUADS + at % QUADS) * 4 + i;
                if (arc[i] != NO_ARC) {
                    if (arc[i] != last) {
                        flush(last, sum);
                        last = arc[i];
                        sum = uvec2(0);
                    }
                    add(sum, uvec2(flow[place], FLOW_WORDS > 1 ? flow[place + 1] : 0));
                } else if ((word[i] & ROOT) != 0 && search < num_searches) {
                    uint low = flow[place], before = atomicAdd(finished[4 * search], low);
                    uint high = (FLOW_WORDS > 1 ? flow[place + 1] : 0) + uint(before + low < before);
                    if (high != 0) atomicAdd(finished[4 * search + 1], high);
                }
            }
        }
        flush(last, sum);
    }
}
