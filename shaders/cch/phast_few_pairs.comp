// Distances of few pairs of nodes, or of pairs whose paths are asked for, with a workgroup for each pair: upward searches
// from both ends, and the least distance over the nodes where they meet. One half of the workgroup searches from the
// source and the other half from the target, at the same time, since each step waits for memory; where there are more
// pairs, which hide that from each other, the whole workgroup does one after the other. Few pairs end at the top of the
// hierarchy, where phast_climb.comp and phast_meet.comp go on.
//
// Pairs of a search have ends in common. If their ends are shared, each is searched from once, by the first pair that has
// it, and phast_join.comp joins both searches of pairs.
//
// A search goes from supernode to supernode up to the root, and to those of their nodes that are on the path there. A
// supernode is a clique with perfect weights, so one step from any of these nodes to any other is enough in it.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 1) const uint HEIGHT = 128;  // most nodes on a path to the root of the elimination tree
layout(constant_id = 6) const uint SIDES = 2;     // searches at once: both of a pair, or 1
const uint PART = WORKGROUP_SIZE / SIDES;         // invocations of a search
layout(constant_id = 8) const uint AT_ONCE = 2;   // arcs of an invocation whose reads overlap
const uint LANES = 16;                            // invocations for a node that others have brought nearer
#define TOP_BINDING 8
#include "top.glsl"
#define PATH_ENTRIES HEIGHT
#define PATH_ARRAYS 6
#define PATH_GROUP gl_WorkGroupID.x
#define PATH_BINDING 9
#include "path_entries.glsl"
#include "weights.glsl"
// of each supernode's ancestors
layout(std430, binding = 4) readonly restrict buffer Depths { WORDS ancestor_depth[]; };
// Source, its offset, target, its offset. If ends are shared, a node that another pair has, too, is NO_INDEX, and the
// number of that pair takes the place of the offset.
layout(std430, binding = 5) readonly restrict buffer Pairs { uvec4 pairs[]; };
// distance, whether a sum did not fit
layout(std430, binding = 6) writeonly restrict buffer Answers { uvec2 answers[]; };

// Upward labels of the first pairs for unpacking, by pair, side and depth: rank, distance, nodes of its supernode on
// the path to the root. Behind those of `most_kept` pairs are the tracks of these, see tracks.glsl.
layout(std430, binding = 7) writeonly restrict buffer UpwardLabels { uvec4 labels[]; };
#include "tracks.glsl"

layout(push_constant) uniform Push {
    uint num_pairs;
    uint num_kept;
    uint ends_at_top;
    uint most_kept;
    uint num_tracked;  // first pairs whose tracks are kept, num_kept at most
    uint has_shared;   // whether ends are shared
};

// For both searches in turn: distances of the nodes on the path to the root, by depth; those of a supernode's nodes
// before the step inside it, by place; ranks of the nodes, by depth.
shared uint found[2 * NUM_SHARED], begun[2 * NUM_SHARED], ranks[2 * NUM_SHARED];
shared uint is_over[2], first_depth[2], last_depth[2];  // of both searches; depths of the nodes that were searched
shared uint best, has_overflow, tracked;
uint lid, side;  // number of this invocation in its search, and 0 for the search from the source, else 1
uint pair_number;
bool sum_overflow;

uint found_at(uint depth) {
    return is_shared(depth) ? found[side * NUM_SHARED + depth] : entries[entry_at(side, depth)];
}

void put_found(uint depth, uint distance) {
    if (is_shared(depth)) found[side * NUM_SHARED + depth] = distance;
    else entries[entry_at(side, depth)] = distance;
}

uint begun_at(uint place) {
    return is_shared(place) ? begun[side * NUM_SHARED + place] : entries[entry_at(2 + side, place)];
}

void put_begun(uint place, uint distance) {
    if (is_shared(place)) begun[side * NUM_SHARED + place] = distance;
    else entries[entry_at(2 + side, place)] = distance;
}

void put_rank(uint depth, uint rank) {
    if (is_shared(depth)) ranks[side * NUM_SHARED + depth] = rank;
    else entries[entry_at(4 + side, depth)] = rank;
}

// Keep an arc from a node at some depth to one above it by which the distance there was found, unless there is no room.
void track(uint word, uint from, uint to, uint sum) {
    if (pair_number >= num_tracked) return;
    uint place = atomicAdd(tracked, 1);
    if (place < MOST_TRACKS) labels[TRACKS_OF(pair_number) + 1 + place] = uvec4(word, from, to | side << 31, sum);
}

// Extend a distance by an arc, given by its word and weight, from a node at some depth to another.
void extend_to(uint to, uint distance, uint arc, uint word, uint from) {
    if (distance == UNREACHABLE || arc == UNREACHABLE) return;
    uint sum = extend(distance, arc), before;
    sum_overflow = sum_overflow || sum == UNREACHABLE;
    // Others change the distance meanwhile, but only to a smaller one.
    if (sum > (is_shared(to) ? found[side * NUM_SHARED + to] : entries[entry_at(side, to)])) return;
    if (is_shared(to)) before = atomicMin(found[side * NUM_SHARED + to], sum);
    else before = atomicMin(entries[entry_at(side, to)], sum);
    if (sum <= before && to < from) track(word, from, to, sum);
}

// Hand the distances of a supernode's first `count` nodes and of all nodes above over to many workgroups. `base` is the
// place of the search in top_distances[].
void hand_over(Supernode s, uint count, uint base) {
    if (lid == 0) {
        top_distances[base + NUM_TOP] = supernode_of[s.first_node];
        top_distances[base + NUM_TOP + 1] = count;
    }
    while (true) {
        for (uint i = lid; i < count; i += PART) {
            uint distance = found_at(s.depth + i);
            if (distance != UNREACHABLE) atomicMin(top_distances[base + s.top + i], distance);
        }
        if (s.num_ancestors == 0) return;
        count = s.parent_place + 1;
        s = SUPERNODE(s.parent);
    }
}

// Return the word of WEIGHT of an arc from the j-th to the i-th node of a supernode.
uint word_inside(Supernode s, uint j, uint i) {
    return 2 * (first_arc_of(s, max(i, j)) + s.num_ancestors + min(i, j)) + (j < i ? 1 - side : side);
}

// Extend the distances of a supernode's nodes on the path to each other.
void extend_inside(Supernode s, uint count) {
    uint total = count * count;
    for (uint first = lid; first < total; first += AT_ONCE * PART) {
        uint from[AT_ONCE], arcs[AT_ONCE], words[AT_ONCE];
        for (uint a = 0; a < AT_ONCE; ++a) {
            uint t = first + a * PART, j = t / count, i = t % count;  // from j to i
            from[a] = t < total && i != j ? begun_at(j) : UNREACHABLE;
            words[a] = word_inside(s, j, i);
            arcs[a] = from[a] == UNREACHABLE ? UNREACHABLE : WEIGHT(words[a]);
        }
        for (uint a = 0; a < AT_ONCE; ++a) {
            uint t = first + a * PART;
            extend_to(s.depth + t % count, from[a], arcs[a], words[a], s.depth + t / count);
        }
    }
}

// Keep the arcs between a supernode's nodes that begin at one which the step inside has brought nearer. Distances that
// they lead to have been found in another way, too.
void track_inside(Supernode s, uint count) {
    uint lanes = min(PART, LANES);
    for (uint j = lid / lanes; j < count; j += PART / lanes) {
        uint from = found_at(s.depth + j);
        if (from == begun_at(j)) continue;
        for (uint i = lid % lanes; i < j; i += lanes) {
            uint word = word_inside(s, j, i), arc = WEIGHT(word);
            if (arc == UNREACHABLE) continue;
            uint sum = extend(from, arc);
            if (sum == found_at(s.depth + i)) track(word, s.depth + j, s.depth + i, sum);
        }
    }
}

// Extend the distances of a supernode's nodes on the path to their ancestors outside it.
void extend_outside(Supernode s, uint count) {
    uint total = count * s.num_ancestors;
    for (uint first = lid; first < total; first += AT_ONCE * PART) {
        uint from[AT_ONCE], to[AT_ONCE], arcs[AT_ONCE], words[AT_ONCE];
        for (uint a = 0; a < AT_ONCE; ++a) {
            uint t = first + a * PART, i = t / s.num_ancestors, k = t % s.num_ancestors;
            from[a] = t < total ? found_at(s.depth + i) : UNREACHABLE;
            words[a] = 2 * (first_arc_of(s, i) + k) + side;
            bool is_needed = from[a] != UNREACHABLE;
            to[a] = is_needed ? WORD(ancestor_depth, s.first_ancestor + k) : 0;
            arcs[a] = is_needed ? WEIGHT(words[a]) : UNREACHABLE;
        }
        for (uint a = 0; a < AT_ONCE; ++a) {
            uint t = first + a * PART;
            extend_to(to[a], from[a], arcs[a], words[a], s.depth + t / s.num_ancestors);
        }
    }
}

// Search upward from a node; backward, if the side is 1. All invocations of a workgroup must call this, those of a search
// with the same arguments. With a `base` other than NO_INDEX the search ends at the top. Without a node nothing is done.
void search_upward(uint rank, uint offset, uint base) {
    bool has_ended = rank == NO_INDEX;
    Supernode s = SUPERNODE(supernode_of[has_ended ? 0 : rank]);
    uint count = has_ended ? 0 : rank - s.first_node + 1, above = s.depth + count;  // nodes of the supernode on the path
    synchronize();
    for (uint i = lid; i < above && !has_ended; i += PART) put_found(i, i + 1 == above ? offset : UNREACHABLE);
    if (lid == 0) {
        is_over[side] = uint(has_ended);
        last_depth[side] = has_ended ? 0 : above - 1;
    }
    synchronize();
    while (true) {
        if (!has_ended && base != NO_INDEX && s.top != NO_INDEX) {
            hand_over(s, count, base);
            has_ended = true;
        }
        Supernode next = s;
        if (!has_ended) {
            if (s.num_ancestors != 0) next = SUPERNODE(s.parent);  // arrives meanwhile
            above = s.depth;
            for (uint i = lid; i < count; i += PART) {
                put_begun(i, found_at(s.depth + i));
                put_rank(s.depth + i, s.first_node + i);
            }
        }
        synchronize();
        if (!has_ended && count > 1) extend_inside(s, count);
        synchronize();
        if (!has_ended) {
            for (uint i = lid; i < count && pair_number < num_kept; i += PART) {
                uint depth = s.depth + i;
                labels[(2 * pair_number + side) * HEIGHT + depth] = uvec4(s.first_node + i, found_at(depth), count, 0);
            }
            if (pair_number < num_tracked && count > 1) track_inside(s, count);
            extend_outside(s, count);
            has_ended = s.num_ancestors == 0;
        }
        count = s.parent_place + 1;
        s = next;
        if (has_ended && lid == 0) {
            is_over[side] = 1;
            first_depth[side] = above;
        }
        synchronize();
        if (is_over[side] != 0 && (SIDES == 1 || is_over[1 - side] != 0)) break;
    }
}

// Return the rank of the node at a depth in one of the searches.
uint rank_at(uint of_side, uint depth) {
    return is_shared(depth) ? ranks[of_side * NUM_SHARED + depth] : entries[entry_at(4 + of_side, depth)];
}

uint distance_at(uint of_side, uint depth) {
    return is_shared(depth) ? found[of_side * NUM_SHARED + depth] : entries[entry_at(of_side, depth)];
}

void main() {
    for (uint i = gl_WorkGroupID.x; i < num_pairs; i += gl_NumWorkGroups.x) {
        uvec4 pair = pairs[i];
        if (pair.x == NO_INDEX && pair.z == NO_INDEX) continue;
        sum_overflow = false;
        if (gl_LocalInvocationIndex == 0) best = UNREACHABLE;
        if (gl_LocalInvocationIndex == 0) has_overflow = tracked = 0;
        pair_number = i;
        for (uint turn = 0; turn < 2; turn += SIDES) {
            side = turn + gl_LocalInvocationIndex / PART;
            lid = gl_LocalInvocationIndex % PART;
            uint base = ends_at_top == 0 ? NO_INDEX : (2 * i + side) * TOP_STRIDE;
            search_upward(side == 0 ? pair.x : pair.z, side == 0 ? pair.y : pair.w, base);
        }
        // The nodes of both paths to the root that are the same have the same depths.
        uint end = min(last_depth[0], last_depth[1]) + 1;
        if (has_shared != 0) end = 0;
        for (uint d = max(first_depth[0], first_depth[1]) + gl_LocalInvocationIndex; d < end; d += WORKGROUP_SIZE) {
            uint forward = distance_at(0, d), backward = distance_at(1, d);
            if (rank_at(0, d) != rank_at(1, d) || forward == UNREACHABLE || backward == UNREACHABLE) continue;
            uint sum = extend(forward, backward);
            if (sum == UNREACHABLE) sum_overflow = true;
            else atomicMin(best, sum);
        }
        if (sum_overflow) atomicMax(has_overflow, 1);
        barrier();
        if (gl_LocalInvocationIndex == 0) {
            if (has_shared == 0) answers[i] = uvec2(best, has_overflow);
            uint count = ends_at_top == 0 && i < num_tracked ? tracked : NO_INDEX;  // at the top others search
            uint depth = last_depth[0] | has_shared * has_overflow << 31;
            if (i < num_kept) labels[TRACKS_OF(i)] = uvec4(count, best, depth, last_depth[1]);
        }
        barrier();
    }
    check_loops();
}
