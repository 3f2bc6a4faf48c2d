// Partial customization: lists the supernodes for which an arc of a listed one matters that has another weight now: a
// path from one of their nodes over the arc was as light as the arc that stands for it, or is now. Otherwise neither
// their weights nor the marks of their arcs change. Perfect customization of those that are listed begins here, too.
#version 460
#extension GL_GOOGLE_include_directive : require
#define WITHOUT_SUPERNODE_OF
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#define BY_ARC
#define WEIGHTS_ACCESS coherent
#include "weights.glsl"
layout(std430, binding = 4) readonly restrict buffer Ancestors { WORDS ancestors[]; };
#include "affected.glsl"
#include "change.glsl"
#define BASIC_BINDING 1
#include "restored.glsl"
layout(std430, binding = 9) readonly restrict buffer Below { WORDS below[]; };  // see supernodes_below in topology.py

layout(push_constant) uniform Push {
    uint begin;  // in the list
    uint level;
    uint slices;  // workgroups that share the supernodes below a node
    uint num_nodes;
};

const uint ROOM = 256;
shared uint changed[ROOM];  // arcs of a node, by their places
shared uint num_changed;
// Parts that the workgroup has listed, and where their arcs begin among those before the change.
shared uvec2 found[ROOM];
shared uint num_found;
shared uint had_given_up;  // for all invocations alike, since others may give up meanwhile

void note_part(uint group, uint first) {
    uint place = atomicAdd(num_found, 1);
    if (place < ROOM) found[place] = uvec2(group, first);
    else restore_part(group, first, 0, 1);
}

const uint LANES = 16;  // invocations for a part that was listed

// Whether a sum of two weights is finite and no more than a third one.
bool reaches(uint one, uint other, uint least) {
    if (one == UNREACHABLE || other == UNREACHABLE) return false;
    uint sum = extend(one, other);
    return sum != UNREACHABLE && sum <= least;
}

// Whether an arc between two ancestors of a node, with the weights `between`, is part of a path that is as light as the
// arc from the node, or to it, that stands for the path.
bool matters(uvec2 low, uvec2 high, uvec2 between) {
    return reaches(low.x, between.x, high.x) || reaches(high.x, between.y, low.x) ||
           reaches(between.y, low.y, high.y) || reaches(between.x, high.y, low.y);
}

// Return the place of an ancestor before another one's, or NO_INDEX.
uint place_before(Supernode s, uint rank, uint end) {
    uint first = 0, last = end;
    while (first < last) {
        uint middle = (first + last) / 2;
        if (WORD(ancestors, s.first_ancestor + middle) < rank) first = middle + 1;
        else last = middle;
    }
    return first < end && WORD(ancestors, s.first_ancestor + first) == rank ? first : NO_INDEX;
}

void process_below(uint entry, uint high, uvec2 old, uvec2 now) {
    uint group = WORD(below, num_nodes + 1 + 2 * entry), i = WORD(below, num_nodes + 2 + 2 * entry);
    if (is_listed(group)) return;
    Supernode s = SUPERNODE(group);
    uint j = place_before(s, high, i);
    if (j == NO_INDEX) return;
    for (uint place = 0; place < s.size; ++place) {
        uint row = first_arc_of(s, place);
        uvec2 to_low = WEIGHTS(row + i), to_high = WEIGHTS(row + j);
        if (matters(to_low, to_high, old) || matters(to_low, to_high, now)) {
            add_to_list(group);
            return;
        }
    }
}

void process_node(Supernode s, uint place, uint first_before, uint slice) {
    uint row = first_arc_of(s, place), columns = s.num_ancestors + place, node = s.first_node + place;
    uint first = WORD(below, node) + slice, end = WORD(below, node + 1);
    for (uint start = 0; start < columns; start += ROOM) {
        if (gl_LocalInvocationIndex == 0) num_changed = num_found = 0;
        barrier();
        for (uint i = start + gl_LocalInvocationIndex; i < min(start + ROOM, columns); i += WORKGROUP_SIZE) {
            if (WEIGHTS(row + i) != before[first_before + row - s.first_arc + i]) changed[atomicAdd(num_changed, 1)] = i;
        }
        barrier();
        uint count = num_changed, entries = first < end ? (end - first + slices - 1) / slices : 0;
        for (uint t = gl_LocalInvocationIndex; t < entries * count; t += WORKGROUP_SIZE) {
            uint column = changed[t % count];
            uint high = column < s.num_ancestors ? WORD(ancestors, s.first_ancestor + column)
                                                 : s.first_node + column - s.num_ancestors;
            process_below(first + t / count * slices, high, before[first_before + row - s.first_arc + column],
                          WEIGHTS(row + column));
        }
        barrier();
        for (uint t = gl_LocalInvocationIndex / LANES; t < min(num_found, ROOM); t += WORKGROUP_SIZE / LANES) {
            restore_part(found[t].x, found[t].y, gl_LocalInvocationIndex % LANES, LANES);
        }
        barrier();
    }
}

shared uint nodes_before[WORKGROUP_SIZE];
#define ITEMS(s) s.size
#define ITEMS_BEFORE nodes_before
#define AT_ONCE WORKGROUP_SIZE
#include "listed_items.glsl"

void main() {
    uint end = begin + state.count[level];
    if (gl_LocalInvocationIndex == 0) had_given_up = state.gave_up;
    barrier();
    if (had_given_up == 0) {
        for (uint item = gl_WorkGroupID.x;; item += gl_NumWorkGroups.x) {
            uint place = item / slices, g, wanted = place;
            if (find_item(begin, end, place, g) <= wanted) break;
            process_node(SUPERNODE(listed[g].x), place, listed[g].y, item % slices);
        }
    }
    check_loops();
}
