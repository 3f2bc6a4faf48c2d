// Upward search in the hierarchy by one workgroup: from a node to all its ancestors, from supernode to supernode. A
// supernode is a clique with perfect weights, so one step from any node to any other is enough in it. The distances are
// therefore correct except for paths through ancestors, which the downward sweep adds. Needs hierarchy.glsl and
// WORKGROUP_SIZE, and PATH_BINDING. With top.glsl it may end where the top of the hierarchy begins.

layout(constant_id = 1) const uint HEIGHT = 128;  // most nodes on a path to the root of the elimination tree
#define PATH_ENTRIES HEIGHT
#ifndef PATH_ARRAYS
#define PATH_ARRAYS 2
#endif
#define PATH_GROUP gl_WorkGroupID.x
#include "path_entries.glsl"
#include "weights.glsl"
// of each supernode's ancestors
layout(std430, binding = 4) readonly restrict buffer Depths { WORDS ancestor_depth[]; };

shared uint found[NUM_SHARED];  // distances of the nodes on the path to the root, by depth
shared uint begun[NUM_SHARED];  // distances of a supernode's nodes before the step inside it
bool sum_overflow = false;
uint relaxed = 0, improved = 0;  // arcs of this invocation

uint found_at(uint depth) { return is_shared(depth) ? found[depth] : entries[entry_at(0, depth)]; }

void put_found(uint depth, uint distance) {
    if (is_shared(depth)) found[depth] = distance;
    else entries[entry_at(0, depth)] = distance;
}

uint begun_at(uint place) { return is_shared(place) ? begun[place] : entries[entry_at(1, place)]; }

void put_begun(uint place, uint distance) {
    if (is_shared(place)) begun[place] = distance;
    else entries[entry_at(1, place)] = distance;
}

// Process the upward label of a node, whose distance is that at its depth. One invocation calls this for each node of
// each supernode on the path to the root. `count` nodes of the supernode are on the path; the supernodes below it have
// `before` nodes.
void handle_label(Supernode s, uint place, uint count, uint before);

void extend_to(uint depth, uint from, uint arc) {
    if (from == UNREACHABLE || arc == UNREACHABLE) return;
    uint sum = extend(from, arc);
    sum_overflow = sum_overflow || sum == UNREACHABLE;
    ++relaxed;
    uint before = is_shared(depth) ? atomicMin(found[depth], sum) : atomicMin(entries[entry_at(0, depth)], sum);
    if (sum < before) ++improved;
}

#ifdef TOP_BINDING
// Hand the distances of a supernode's first `count` nodes and of all nodes above over to many workgroups. `base` is the
// place of the search in top_distances[]; searches may share it.
void hand_over(Supernode s, uint count, uint base) {
    if (gl_LocalInvocationIndex == 0) {
        top_distances[base + NUM_TOP] = supernode_of[s.first_node];
        top_distances[base + NUM_TOP + 1] = count;
    }
    while (true) {
        for (uint i = gl_LocalInvocationIndex; i < count; i += WORKGROUP_SIZE) {
            uint distance = found_at(s.depth + i);
            if (distance != UNREACHABLE) atomicMin(top_distances[base + s.top + i], distance);
        }
        if (s.num_ancestors == 0) return;
        count = s.parent_place + 1;
        s = SUPERNODE(s.parent);
    }
}
#endif

// Search upward. All invocations of a workgroup must call this with the same arguments. With `backward` the distances
// are those to the node instead of from it. With a `base` other than NO_INDEX the search ends at the top. Return the
// number of nodes above those that have been searched.
uint search_upward(uint rank, uint offset, bool backward, uint base) {
    uint lid = gl_LocalInvocationIndex, with = backward ? 1 : 0, against = 1 - with;
    Supernode s = SUPERNODE(supernode_of[rank]);
    uint count = rank - s.first_node + 1, before = 0;  // nodes of the supernode on the path
    synchronize();
    for (uint i = lid; i < s.depth + count; i += WORKGROUP_SIZE) {
        put_found(i, i + 1 == s.depth + count ? offset : UNREACHABLE);
    }
    synchronize();
    uint above = s.depth + count;
    while (true) {
#ifdef TOP_BINDING
        if (base != NO_INDEX && s.top != NO_INDEX) {
            hand_over(s, count, base);
            break;
        }
#endif
        above = s.depth;
        for (uint i = lid; i < s.size; i += WORKGROUP_SIZE) {
            put_begun(i, i < count ? found_at(s.depth + i) : UNREACHABLE);
            if (i >= count) put_found(s.depth + i, UNREACHABLE);
        }
        synchronize();
        if (s.size > 1) {
            for (uint t = lid; t < count * s.size; t += WORKGROUP_SIZE) {
                uint j = t / s.size, i = t % s.size;  // from j to i
                uint from = begun_at(j);
                if (i == j || from == UNREACHABLE) continue;
                uint arc = first_arc_of(s, max(i, j)) + s.num_ancestors + min(i, j);
                extend_to(s.depth + i, from, WEIGHT(2 * arc + (j < i ? against : with)));
            }
            synchronize();
        }
        for (uint i = lid; i < s.size; i += WORKGROUP_SIZE) handle_label(s, i, count, before);
        if (s.num_ancestors == 0) break;
        uint parent = s.parent, next_count = s.parent_place + 1;
        before += s.size;
        for (uint t = lid; t < count * s.num_ancestors; t += WORKGROUP_SIZE) {
            uint i = t / s.num_ancestors, k = t % s.num_ancestors;
            uint from = found_at(s.depth + i);
            if (from == UNREACHABLE) continue;
            extend_to(WORD(ancestor_depth, s.first_ancestor + k), from, WEIGHT(2 * (first_arc_of(s, i) + k) + with));
        }
        s = SUPERNODE(parent);
        count = next_count;
        synchronize();
    }
    synchronize();
    return above;
}
