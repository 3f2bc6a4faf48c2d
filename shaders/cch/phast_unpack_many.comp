// Unpacking by many workgroups, after phast_unpack.comp has found enough arcs. Each workgroup replaces some of these
// arcs, and all arcs that result from them, independently of the other workgroups. A stack holds the arcs that a
// workgroup has yet to replace. An arc gets its place in the order of discovery while its own arcs are looked for, so that
// nothing waits for the place.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "unpack_arcs.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 1) const uint ROOM = 1024;
#include "unpack_triangles.glsl"

// As put_arc takes an arc: its ends, and three numbers more; then whether it has its place.
shared uvec4 stack[ROOM];
shared uint groups[ROOM], depths[ROOM], weights_of[ROOM];
shared uint height;
const uint HAS_PLACE = 1u << 31;  // beside the supernode

void push(uvec4 ends, uvec4 more) {
    uint place = atomicAdd(height, 1);
    if (place >= ROOM) {
        HEADER.has_no_room = 1;
        return;
    }
    stack[place] = ends;
    groups[place] = more.x;
    depths[place] = more.y;
    weights_of[place] = more.z;
}

void keep_arc(uvec4 ends, uvec4 more) {
    push(ends, more);
}

void main() {
    uint lid = gl_LocalInvocationIndex;
    if (HEADER.is_split == 0) return;
    if (lid == 0) height = 0;
    barrier();
    for (uint i = HEADER.next_item + gl_WorkGroupID.x + lid * gl_NumWorkGroups.x; i < HEADER.split_end;
         i += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        uvec4 more = LIST(most + 2 * i + 1);
        push(LIST(most + 2 * i), uvec4(more.x | HAS_PLACE, more.yzw));
    }
    while (true) {
        barrier();
        uint there = min(height, ROOM), taken = min(there, WORKGROUP_SIZE);
        if (there == 0) break;
        uint lanes = WORKGROUP_SIZE / taken, place = min(there - taken + lid / lanes, there);
        bool is_busy = place < there;
        uvec4 ends = uvec4(0), more = uvec4(0);
        if (is_busy) {
            ends = stack[place];
            more = uvec4(groups[place], depths[place], weights_of[place], 0);
        }
        barrier();
        if (lid == 0) height = there - taken;
        barrier();
        bool is_new = is_busy && lid % lanes == 0 && (more.x & HAS_PLACE) == 0;
        more.x &= ~HAS_PLACE;
        uint item = is_new ? atomicAdd(HEADER.num_items, 1) : most;
        if (is_busy) unpack(ends, more, lid % lanes, lanes);
        put_arc(item, ends, more, most);
    }
    check_loops();
}
