// Arcs of a pair's shortest paths in the hierarchy: up to the nodes at which the upward searches from both ends meet, and
// down. All shortest paths are found, since several may be equally short and each algorithm must find the same one. One
// workgroup does this for each path: from nodes that are marked marks spread down the arcs that phast_fit.comp has found,
// until no more nodes get one.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "unpack_arcs.glsl"
#include "fitting_arcs.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#define PATH_ENTRIES HEIGHT
#define PATH_ARRAYS 2
#define PATH_GROUP gl_WorkGroupID.y
#define PATH_BINDING 8
#include "path_entries.glsl"

layout(push_constant) uniform Push {
    uint most;
    uint num_nodes;
    uint marks_each;
};

shared uint marks[2 * NUM_SHARED];  // by side and depth: whether the node lies on a shortest path
shared uint items;                  // arcs found
shared uint has_spread[3];          // whether the last round, this one and the next one set a mark, in turn

bool is_marked(uint side, uint depth) {
    if (is_shared(depth)) return atomicOr(marks[side * NUM_SHARED + depth], 0) != 0;
    return atomicOr(entries[entry_at(side, depth)], 0) != 0;
}

void put_mark(uint side, uint depth, uint is_set) {
    if (is_shared(depth)) atomicExchange(marks[side * NUM_SHARED + depth], is_set);
    else atomicExchange(entries[entry_at(side, depth)], is_set);
}

void mark_arcs_of(uint number, uvec4 job, uint fitting) {
    uint source = job.y, best = job.w, lid = gl_LocalInvocationIndex;
    uint bottom[2] = {depth_of(source), depth_of(job.z)};
    uvec2 first_labels = first_labels_of(job.x);
    for (uint depth = lid; depth <= max(bottom[0], bottom[1]); depth += WORKGROUP_SIZE) {
        bool is_met = false;
        if (depth <= min(bottom[0], bottom[1])) {
            uvec4 here = labels[first_labels.x + depth], there = labels[first_labels.y + depth];
            is_met = here.x == there.x && here.y != UNREACHABLE && extend(here.y, there.y) == best;
        }
        put_mark(0, depth, uint(is_met));
        put_mark(1, depth, uint(is_met));
    }
    if (lid == 0) {
        items = HEADER.num_items;
        has_spread[0] = has_spread[1] = 0;
        // The seed is stored here, because no arc leads to it.
        uint place = HEADER.num_found;
        if (MARK_OF(source) == 0 && place < most) {
            LIST(place) = uvec4(source, labels[first_labels.x + bottom[0]].y, NONE, place);
            MARK_OF(source) = place + 1;
            HEADER.num_found = place + 1;
        }
    }
    synchronize();
    // Most often an invocation has one arc, which it need not read again.
    uvec4 own = lid < fitting ? FITTING(2 * lid + 1) : uvec4(0);
    for (uint round = 0;; ++round) {
        for (uint i = lid; i < fitting; i += WORKGROUP_SIZE) {
            uvec4 arc = i == lid ? own : FITTING(2 * i + 1);
            uint side = side_of(arc.w), depth = depth_in(arc.w);
            if (number_in(arc.w) != number || !is_marked(side, arc.y) || is_marked(side, depth)) continue;
            put_mark(side, depth, 1);
            atomicMax(has_spread[round % 3], 1);
        }
        if (lid == 0) has_spread[(round + 1) % 3] = 0;
        synchronize();
        if (has_spread[round % 3] == 0) break;
    }
    for (uint i = lid; i < fitting; i += WORKGROUP_SIZE) {
        uvec4 ends = FITTING(2 * i), arc = i == lid ? own : FITTING(2 * i + 1);
        if (number_in(arc.w) != number || !is_marked(side_of(arc.w), arc.y)) continue;
        // No arc comes here twice for one pair; arcs that other pairs have found are not worth a wait for the answer.
        atomicOr(BITS_OF(ends.z), 1 << ends.z % 32);
        put_arc(atomicAdd(items, 1), ends, uvec4(arc.xyz, 0), most);
    }
    synchronize();
    if (lid == 0) HEADER.num_items = items;
    synchronize();
}

void main() {
    uint fitting = min(HEADER.num_fitting, MOST_FITTING);
    for (uint number = 0; number < HEADER.num_jobs; ++number) {
        mark_arcs_of(number, jobs[HEADER.first_pair + number], fitting);
    }
    check_loops();
}
