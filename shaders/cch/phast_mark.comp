// Search for the arcs of a pair's shortest paths in the hierarchy: up to the nodes at which the upward searches from
// both ends meet, and down. All shortest paths are found, since several may be equally short and each algorithm must
// find the same one. One workgroup does this for each path: one half goes down to the source, the other half to the
// target, from supernode to supernode. It reads the upward labels that phast_pairs.comp keeps.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "unpack_arcs.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 1) const uint HEIGHT = 128;
#define PATH_ENTRIES HEIGHT
#define PATH_ARRAYS 4
#define PATH_GROUP gl_WorkGroupID.y
#define PATH_BINDING 8
#include "path_entries.glsl"
// by pair, side and depth: rank, distance, nodes of its supernode on the path to the root
layout(std430, binding = 7) readonly restrict buffer UpwardLabels { uvec4 labels[]; };

layout(push_constant) uniform Push {
    uint most;
    uint num_nodes;
    uint marks_each;
};

// By side and depth: distance of the node; its supernode, and whether the node lies on a shortest path.
shared uint distances[2 * NUM_SHARED], states[2 * NUM_SHARED];
shared uint items;  // arcs found
const uint GROUP = 0x3FFFFFFFu, MARK = 1 << 30, NEW_MARK = 1u << 31;

uint distance_at(uint side, uint depth) {
    return is_shared(depth) ? distances[side * NUM_SHARED + depth] : entries[entry_at(side, depth)];
}

uint state_at(uint side, uint depth) {
    return is_shared(depth) ? states[side * NUM_SHARED + depth] : entries[entry_at(2 + side, depth)];
}

// Set a mark, and return the state before.
uint mark(uint side, uint depth, uint bit) {
    if (is_shared(depth)) return atomicOr(states[side * NUM_SHARED + depth], bit);
    return atomicOr(entries[entry_at(2 + side, depth)], bit);
}

void put(uint side, uint depth, uint distance, uint state) {
    if (is_shared(depth)) {
        distances[side * NUM_SHARED + depth] = distance;
        states[side * NUM_SHARED + depth] = state;
    } else {
        entries[entry_at(side, depth)] = distance;
        entries[entry_at(2 + side, depth)] = state;
    }
}

uint depth_of(uint rank) {
    Supernode s = SUPERNODE(supernode_of[rank]);
    return s.depth + rank - s.first_node;
}

bool fits(uint near, uint word, uint far) {
    return near != UNREACHABLE && WEIGHT(word) != UNREACHABLE && extend(near, WEIGHT(word)) == far;
}

uint best;  // weight of the path

void keep(uint low, uint high, uint word, uint near, uint far, uint group, uint depth) {
    // No arc comes here twice for one pair; arcs that other pairs have found are not worth a wait for the answer.
    atomicOr(BITS_OF(word), 1 << word % 32);
    put_arc(atomicAdd(items, 1), uvec4(low, high, word, word % 2 == 0 ? near : best - far), uvec4(group, depth, WEIGHT(word), 0), most);
}

void mark_arcs_of(uvec4 job) {
    uint pair = job.x, source = job.y, target = job.z;
    best = job.w;
    uint lid = gl_LocalInvocationIndex, lanes = WORKGROUP_SIZE / 2;
    uint bottom[2] = {depth_of(source), depth_of(target)}, at[2] = {0, 0}, count[2];
    uint first_label = 2 * pair * HEIGHT;
    for (uint i = lid; i < 2 * HEIGHT; i += WORKGROUP_SIZE) {
        uint side = i / HEIGHT, depth = i % HEIGHT;
        if (depth > bottom[side]) continue;
        uvec4 here = labels[first_label + i];
        uint group = supernode_of[here.x];
        if (depth <= bottom[1 - side]) {
            uvec4 there = labels[first_label + (1 - side) * HEIGHT + depth];
            bool is_met = here.x == there.x && here.y != UNREACHABLE && extend(here.y, there.y) == best;
            group |= is_met ? MARK : 0;
        }
        put(side, depth, here.y, group);
    }
    if (lid == 0) {
        items = HEADER.num_items;
        // The seed is stored here, because no arc leads to it.
        uint place = HEADER.num_found;
        if (MARK_OF(source) == 0 && place < most) {
            LIST(place) = uvec4(source, labels[first_label + bottom[0]].y, NONE, place);
            MARK_OF(source) = place + 1;
            HEADER.num_found = place + 1;
        }
    }
    synchronize();
    uint side = lid / lanes, lane = lid % lanes;
    while (at[0] <= bottom[0] || at[1] <= bottom[1]) {
        for (uint i = 0; i < 2; ++i) count[i] = at[i] <= bottom[i] ? labels[first_label + i * HEIGHT + at[i]].z : 0;
        uint nodes = side < 2 ? count[side] : 0, first = at[side % 2];
        Supernode s;
        uint group = 0;
        if (nodes != 0) {
            group = state_at(side, first) & GROUP;
            s = SUPERNODE(group);
        }
        // Arcs from or to ancestors outside the supernode.
        uint pairs = nodes == 0 ? 0 : nodes * s.num_ancestors;
        for (uint t = lane; t < pairs; t += lanes) {
            uint i = t / s.num_ancestors, k = t % s.num_ancestors, depth = WORD(ancestor_depth, s.first_ancestor + k);
            if ((state_at(side, depth) & MARK) == 0) continue;
            uint word = 2 * (first_arc_of(s, i) + k) + side;
            uint near = distance_at(side, first + i), far = distance_at(side, depth);
            if (!fits(near, word, far)) continue;
            mark(side, first + i, MARK);
            uint above = labels[first_label + side * HEIGHT + depth].x;
            keep(s.first_node + i, above, word, near, far, group, depth);
        }
        synchronize();
        // Arcs inside the supernode, where one step leads from any node to any other: first the nodes, then the arcs.
        uint inside = nodes > 1 ? nodes * (nodes - 1) : 0;
        for (uint t = lane; t < inside; t += lanes) {
            uint i = t / nodes + 1, k = t % nodes;
            if (k >= i || (mark(side, first + k, 0) & MARK) == 0) continue;
            uint word = 2 * (first_arc_of(s, i) + s.num_ancestors + k) + side;
            // The new mark is not read before all nodes have been tested, so that the order does not matter.
            if (fits(distance_at(side, first + i), word, distance_at(side, first + k))) mark(side, first + i, NEW_MARK);
        }
        synchronize();
        for (uint t = lane; t < nodes; t += lanes) {
            if (state_at(side, first + t) >= NEW_MARK) mark(side, first + t, MARK);
        }
        synchronize();
        for (uint t = lane; t < inside; t += lanes) {
            uint i = t / nodes + 1, k = t % nodes;
            if (k >= i || (state_at(side, first + k) & MARK) == 0) continue;
            uint word = 2 * (first_arc_of(s, i) + s.num_ancestors + k) + side;
            uint near = distance_at(side, first + i), far = distance_at(side, first + k);
            if (fits(near, word, far)) keep(s.first_node + i, s.first_node + k, word, near, far, group, s.depth + k);
        }
        at[0] += count[0];
        at[1] += count[1];
    }
    synchronize();
    if (lid == 0) HEADER.num_items = items;
    synchronize();
}

void main() {
    for (uint number = 0; number < HEADER.num_jobs; ++number) mark_arcs_of(jobs[HEADER.first_pair + number]);
    check_loops();
}
