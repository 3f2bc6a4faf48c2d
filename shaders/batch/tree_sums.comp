// Loads of arcs: what goes over them in all trees of a batch of searches; and what each search sends. An invocation has
// the arcs into a node, which no other one writes. In most trees the same arc leads into the node.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "tree.glsl"

layout(std430, binding = 0) readonly restrict buffer First { uint first_in[]; };
layout(std430, binding = 1) readonly restrict buffer ArcsInto { uvec4 arc_into[]; };
layout(std430, binding = 2) readonly restrict buffer States { uvec4 state[]; };
layout(std430, binding = 3) readonly restrict buffer Flows { uint flow[]; };
layout(std430, binding = 4) restrict buffer Loads { uvec2 loads[]; };                // by place of the arcs by head
layout(std430, binding = 5) coherent restrict buffer Finished { uint finished[]; };  // what is sent and missed

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
    if (arc == NO_ARC) return;
    uvec2 load = loads[arc];
    add(load, sum);
    loads[arc] = load;
}

void main() {
    const uint QUADS = SEARCHES / 4;
    uint stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint row = gl_GlobalInvocationID.x; row < num_rows; row += stride) {
        for (uint k = first_in[row]; k < first_in[row + 1]; ++k) loads[k] = uvec2(0);
        uint last = NO_ARC;
        uvec2 sum = uvec2(0);
        for (uint tile = 0; tile < num_tiles; ++tile) {
            uint base = (tile * num_rows + row) * QUADS;
            for (uint quad = 0; quad < QUADS; ++quad) {
                uvec4 arc = arc_into[base + quad], word = state[base + quad];
                for (uint i = 0; i < 4; ++i) {
                    bool is_root = (word[i] & ROOT) != 0;
                    if (arc[i] == NO_ARC && !is_root) continue;
                    uint place = (4 * (base + quad) + i) * FLOW_WORDS;
                    uvec2 here = uvec2(flow[place], FLOW_WORDS > 1 ? flow[place + 1] : 0);
                    if (is_root) {
                        uint search = (tile * QUADS + quad) * 4 + i;
                        if (search >= num_searches) continue;
                        uint before = atomicAdd(finished[4 * search], here.x);
                        atomicAdd(finished[4 * search + 1], here.y + uint(before + here.x < before));
                        continue;
                    }
                    if (arc[i] != last) {
                        flush(last, sum);
                        last = arc[i];
                        sum = uvec2(0);
                    }
                    add(sum, here);
                }
            }
        }
        flush(last, sum);
    }
}
