// Unpacking of paths through the hierarchy by one workgroup for each path: replaces arcs by the arcs below them, until
// only arcs of the graph are left or there are enough arcs for many workgroups, see phast_unpack_many.comp. In each
// round the workgroup replaces arcs that the round before found.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "unpack_arcs.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#include "unpack_triangles.glsl"

shared uint items;

void keep_arc(uvec4 ends, uvec4 more) {
    put_arc(atomicAdd(items, 1), ends, more, most);
}

void main() {
    uint lid = gl_LocalInvocationIndex, begin = HEADER.next_item, end = begin;
    if (HEADER.is_split != 0) return;
    if (lid == 0) items = HEADER.num_items;
    for (uint i = 0; i < rounds; ++i) {
        memoryBarrierBuffer();
        barrier();
        end = min(items, most);
        barrier();  // no invocation may add items before all have read `items`
        if (begin == end || end - begin >= enough) break;
        end = min(end, begin + WORKGROUP_SIZE);
        uint lanes = WORKGROUP_SIZE / (end - begin), item = begin + lid / lanes;
        if (item < end) unpack(LIST(most + 2 * item), LIST(most + 2 * item + 1), lid % lanes, lanes);
        begin = end;
    }
    barrier();
    if (lid == 0) {
        HEADER.num_items = items;
        HEADER.next_item = begin;
        HEADER.split_end = min(items, most);
        HEADER.is_split = uint(HEADER.split_end - begin >= enough);
    }
    check_loops();
}
