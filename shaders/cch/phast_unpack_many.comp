// Unpacking by many workgroups, after phast_unpack.comp has found enough arcs. Each workgroup replaces some of these
// arcs, and all arcs that result from them, independently of the other workgroups. A stack holds the arcs that a
// workgroup has yet to replace.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "unpack_arcs.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 1) const uint ROOM = 1024;
#include "unpack_triangles.glsl"

shared uint stack[ROOM];
shared uint height;

void push(uint item) {
    uint place = atomicAdd(height, 1);
    if (place < ROOM) stack[place] = item;
    else HEADER.has_no_room = 1;
}

uint find_arcs(uint count) {
    uint place = atomicAdd(HEADER.num_items, count);
    for (uint i = place; i < place + count && i < most; ++i) push(i);
    return place;
}

void main() {
    uint lid = gl_LocalInvocationIndex;
    if (HEADER.is_split == 0) return;
    if (lid == 0) height = 0;
    barrier();
    for (uint i = HEADER.next_item + gl_WorkGroupID.x + lid * gl_NumWorkGroups.x; i < HEADER.split_end;
         i += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        push(i);
    }
    while (true) {
        memoryBarrierBuffer();
        barrier();
        uint there = min(height, ROOM), taken = min(there, WORKGROUP_SIZE);
        if (there == 0) break;
        uint lanes = WORKGROUP_SIZE / taken, place = there - taken + lid / lanes, item = place < there ? stack[place] : 0;
        barrier();
        if (lid == 0) height = there - taken;
        barrier();
        if (place < there) unpack(LIST(most + 2 * item), LIST(most + 2 * item + 1), lid % lanes, lanes);
    }
    check_loops();
}
