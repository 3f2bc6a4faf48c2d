// Paths of searches that are known without all shortest ones, in the submission of the searches: choice of the nearest
// target, the arcs of the hierarchy from the source to the highest node of the path and on to the target, and the arcs
// of the graph that these stand for, in order. A workgroup does all of this for each search, in shared memory. Where
// several paths are equally short, other than by single arcs of which lower_ties.comp has chosen, or the path has too
// many arcs for that, it says so, and phast_choose.comp and what follows it unpack all of them, in this submission or
// the next one. Needs what lower_arcs.comp has made.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 64;
layout(constant_id = 1) const uint HEIGHT = 128;  // most nodes on a path to the root of the elimination tree
layout(constant_id = 2) const uint ROOM = 8192;   // words of shared memory, at least 5 * HEIGHT
// By slot: first pair, number of seeds, and of targets; pairs are those of the first seed first. Memory of the host.
layout(std430, binding = 0) readonly restrict buffer Searches { uvec4 searches[]; };
// by pair, side and depth: rank, distance; then the tracks, see tracks.glsl
layout(std430, binding = 1) readonly restrict buffer UpwardLabels { uvec4 labels[]; };
layout(std430, binding = 2) readonly restrict buffer Lower { uvec2 lower[]; };  // see lower_arcs.glsl
#include "lower_arcs.glsl"
layout(std430, binding = 3) readonly restrict buffer ArcIds { uint arc_ids[]; };  // by place among the incoming arcs
// See phast_path.comp; memory of the host.
layout(std430, binding = 4) writeonly restrict buffer Results { uint results[]; };
layout(std430, binding = 5) coherent buffer Count { uint all_arcs; };  // arcs of all paths that are in the results
#include "tracks.glsl"
#include "shared_ends.glsl"

layout(push_constant) uniform Push {
    uint most_kept;
    uint longest;   // distance of the paths that are unpacked, at most
    uint room;      // for the arcs of all paths
    uint is_last;   // whether nothing unpacks other paths in this submission; if so, they have the result HAS_TIES, else 0
};

// The twins of RESULT, MOST_SLOTS and the values of `done` in vkssp/cch/unpack.py.
const uint RESULT_WORDS = 6, MOST_SLOTS = 128, DONE = 1, LEFT = 3, HAS_TIES = 5;

// Words of `pool` while arcs of the hierarchy are found: by side and depth the arc that leads up to there, if one does:
// its lower depth, and its place among the arcs times 65,536; a bit for each depth of each side whether arcs lead up to
// there from the source, or the target; then the arcs that fit the distances, with the depths of both ends; and the words
// of those of the path. Afterwards there are three arrays for arcs to be replaced, or replaced already, linked in the
// order of the path: words of the hierarchy, or places of arcs of the graph; and the next one.
shared uint pool[ROOM];
const uint BITS = (HEIGHT + 31) / 32, BITS_AT = 2 * HEIGHT, FITTING_AT = BITS_AT + 2 * BITS;
const uint MOST_FITTING = (ROOM - FITTING_AT) / 3, ENDS_AT = FITTING_AT + MOST_FITTING, CHAIN_AT = ENDS_AT + MOST_FITTING;
const uint MOST_ARCS = ROOM / 3, LINKS_AT = MOST_ARCS;
const uint AT_ONCE = 4;  // tracks whose reads overlap
const uint NONE = 0xFFFFFFFFu, SEVERAL = 0xFFFFFFFEu;
const uint IS_REPLACED = 0x80000000u, END = 0x7FFFFFFFu;
shared uint best, target, chosen, chosen_pair, top, tops, fitting, has_ties, lengths[2], arcs, first_arc;
shared uint has_spread[3];  // whether the last round, this one and the next one reached a node, in turn

void put_result(uint done, uint seed, uint length) {
    if (done == HAS_TIES && is_last == 0) return;
    uint first = RESULT_WORDS * gl_WorkGroupID.x;
    results[first + 1] = best;
    results[first + 2] = seed;
    results[first + 3] = target;
    results[first + 4] = length;
    results[first + 5] = first_arc;
    results[first] = done;
}

bool is_reached(uint side, uint depth) {
    return (atomicOr(pool[BITS_AT + side * BITS + depth / 32], 0) >> depth % 32 & 1) != 0;
}

void reach(uint side, uint depth) { atomicOr(pool[BITS_AT + side * BITS + depth / 32], 1u << depth % 32); }

// Choose the nearest target, and the pair with it. All invocations call this.
void choose(uvec4 search) {
    uint lid = gl_LocalInvocationIndex, num_pairs = search.y * search.z;
    if (lid == 0) {
        best = UNREACHABLE;
        target = top = chosen_pair = NO_INDEX;
        chosen = fitting = has_ties = first_arc = tops = lengths[0] = lengths[1] = has_spread[0] = has_spread[1] = 0;
    }
    barrier();
    uint own = lid < num_pairs ? labels[TRACKS_OF(search.x + lid)].y : UNREACHABLE;
    for (uint i = lid; i < num_pairs; i += WORKGROUP_SIZE) {
        atomicMin(best, i == lid ? own : labels[TRACKS_OF(search.x + i)].y);
    }
    barrier();
    for (uint i = lid; i < num_pairs; i += WORKGROUP_SIZE) {
        if ((i == lid ? own : labels[TRACKS_OF(search.x + i)].y) == best) atomicMin(target, i % search.z);
    }
    barrier();
    for (uint i = lid; i < num_pairs; i += WORKGROUP_SIZE) {
        uint distance = i == lid ? own : labels[TRACKS_OF(search.x + i)].y;
        if (i % search.z != target || distance != best) continue;
        atomicAdd(chosen, 1);
        atomicMin(chosen_pair, i);
    }
    barrier();
}

// Find the arcs of the hierarchy that stand for parts of shortest paths, and the highest nodes of these paths. Distances
// are those of all paths. An arc is of use only if others lead up to it: the distance of its lower end may be that of a
// path over a higher node, from which another arc leads on.
//
// The pairs, perhaps one, have the labels and tracks of the search from the source, and from the target; `counts` are the
// numbers of these tracks, and `depths` those of both ends.
void find_fitting(uvec2 pairs, uvec2 counts, uvec2 depths) {
    uint lid = gl_LocalInvocationIndex, first_labels[2] = {2 * pairs.x * HEIGHT, (2 * pairs.y + 1) * HEIGHT};
    bool is_one = pairs.x == pairs.y;
    uint total = is_one ? counts.x : counts.x + counts.y;
    for (uint i = lid; i < FITTING_AT; i += WORKGROUP_SIZE) pool[i] = i < BITS_AT ? NONE : 0;
    barrier();
    if (lid == 0) {
        reach(0, depths.x);
        reach(1, depths.y);
    }
    for (uint first = lid; first < total; first += AT_ONCE * WORKGROUP_SIZE) {
        uvec4 tracks[AT_ONCE];
        uint found[AT_ONCE];
        for (uint a = 0; a < AT_ONCE; ++a) {
            uint t = min(first + a * WORKGROUP_SIZE, total - 1);
            tracks[a] = labels[1 + (t < counts.x ? TRACKS_OF(pairs.x) + t : TRACKS_OF(pairs.y) + t - counts.x)];
        }
        for (uint a = 0; a < AT_ONCE; ++a) {
            found[a] = labels[first_labels[tracks[a].z >> 31] + (tracks[a].z & 0x7FFFFFFF)].y;
        }
        for (uint a = 0; a < AT_ONCE && first + a * WORKGROUP_SIZE < total; ++a) {
            uvec4 track = tracks[a];
            bool is_of_source = first + a * WORKGROUP_SIZE < counts.x;
            if (!is_one && is_of_source != (track.z >> 31 == 0)) continue;  // of another pair
            if (track.w > best || found[a] != track.w || lower[track.x].y == HAS_NONE) continue;
            uint place = atomicAdd(fitting, 1);
            if (place >= MOST_FITTING) {
                has_ties = 1;
                break;
            }
            pool[FITTING_AT + place] = track.x;
            pool[ENDS_AT + place] = track.y | (track.z & 0x7FFFFFFF) << 16;
        }
    }
    barrier();
    uint count = min(fitting, MOST_FITTING);
    for (uint round = 0;; ++round) {
        for (uint i = lid; i < count; i += WORKGROUP_SIZE) {
            uint side = pool[FITTING_AT + i] & 1, ends = pool[ENDS_AT + i];
            if (!is_reached(side, ends & 0xFFFF) || is_reached(side, ends >> 16)) continue;
            reach(side, ends >> 16);
            has_spread[round % 3] = 1;
        }
        if (lid == 0) has_spread[(round + 1) % 3] = 0;
        barrier();
        if (has_spread[round % 3] == 0) break;
    }
    for (uint i = lid; i < count; i += WORKGROUP_SIZE) {
        uint side = pool[FITTING_AT + i] & 1, ends = pool[ENDS_AT + i], at = side * HEIGHT + (ends >> 16);
        if (!is_reached(side, ends & 0xFFFF)) continue;
        if (atomicCompSwap(pool[at], NONE, (ends & 0xFFFF) | i << 16) != NONE) atomicExchange(pool[at], SEVERAL);
    }
    for (uint depth = lid; depth <= min(depths.x, depths.y); depth += WORKGROUP_SIZE) {
        if (!is_reached(0, depth) || !is_reached(1, depth)) continue;
        uvec4 here = labels[first_labels[0] + depth], there = labels[first_labels[1] + depth];
        if (here.x != there.x || extend(here.y, there.y) != best) continue;
        atomicAdd(tops, 1);
        atomicMin(top, depth);
    }
    barrier();
}

// Go down from the highest node of the path on one side. One invocation does this.
void go_down(uint side, uint bottom) {
    uint depth = top, length = 0;
    while (depth != bottom) {
        uint arc = pool[side * HEIGHT + depth];
        if (arc >= SEVERAL) {
            has_ties = 1;
            break;
        }
        // Both sides together have at most as many arcs as fit.
        pool[CHAIN_AT + (side == 0 ? length : MOST_FITTING - 1 - length)] = pool[FITTING_AT + (arc >> 16)];
        ++length;
        depth = arc & 0xFFFF;
    }
    lengths[side] = length;
}

// Replace arcs until only arcs of the graph are left.
void replace_arcs() {
    uint lid = gl_LocalInvocationIndex;
    while (true) {
        uint before = arcs;
        barrier();  // no invocation may add arcs before all have read their number
        for (uint i = lid; i < before; i += WORKGROUP_SIZE) {
            uint link = pool[LINKS_AT + i];
            if ((link & IS_REPLACED) != 0) continue;
            uvec2 both = lower[pool[i]];
            if (both.y == IS_ARC) {
                pool[LINKS_AT + i] = link | IS_REPLACED;
                pool[i] = both.x;
                continue;
            }
            uint place = both.y == HAS_SEVERAL ? MOST_ARCS : atomicAdd(arcs, 1);
            if (place >= MOST_ARCS) {
                has_ties = 1;
                continue;
            }
            pool[i] = both.x;
            pool[LINKS_AT + i] = place;
            pool[place] = both.y;
            pool[LINKS_AT + place] = link;
        }
        barrier();
        if (has_ties != 0 || arcs == before) break;
    }
}

void main() {
    uint lid = gl_LocalInvocationIndex;
    uvec4 search = searches[gl_WorkGroupID.x];
    choose(search);
    if (best > longest) {
        if (lid == 0) put_result(LEFT, NO_INDEX, 0);
        return;
    }
    uvec2 pairs = uvec2(
        FIRST_WITH_SEED(search.x, chosen_pair, search.z), FIRST_WITH_TARGET(search.x, chosen_pair, search.z)
    );
    uvec4 header = labels[TRACKS_OF(pairs.x)], other = labels[TRACKS_OF(pairs.y)];
    if (chosen != 1 || max(header.x, other.x) > MOST_TRACKS) {
        if (lid == 0) put_result(HAS_TIES, NO_INDEX, 0);
        return;
    }
    uvec2 depths = uvec2(header.z & 0x7FFFFFFF, other.w);
    find_fitting(pairs, uvec2(header.x, other.x), depths);
    if (tops == 1) {
        if (lid == 0) go_down(0, depths.x);
        if (lid == WORKGROUP_SIZE / 2) go_down(1, depths.y);
    } else {
        has_ties = 1;
    }
    barrier();
    uint begin = lengths[0], count = begin + lengths[1];
    barrier();
    if (has_ties != 0 || count > MOST_ARCS || count > WORKGROUP_SIZE) {
        if (lid == 0) put_result(HAS_TIES, NO_INDEX, 0);
        return;
    }
    uint word = 0;
    if (lid < count) word = pool[CHAIN_AT + (lid < begin ? begin - 1 - lid : MOST_FITTING - 1 - (lid - begin))];
    barrier();  // the place of what was found is used for links now
    if (lid < count) {
        pool[lid] = word;
        pool[LINKS_AT + lid] = lid + 1 < count ? lid + 1 : END;
    }
    if (lid == 0) arcs = count;
    barrier();
    replace_arcs();
    uint length = arcs;
    if (has_ties != 0) {
        if (lid == 0) put_result(HAS_TIES, NO_INDEX, 0);
        return;
    }
    // Number of arcs up to the end of the path: links are doubled, and read and written in two arrays in turn.
    uint from = LINKS_AT, to = 2 * MOST_ARCS;
    for (uint i = lid; i < length; i += WORKGROUP_SIZE) {
        uint next = pool[from + i] & END;
        pool[from + i] = next == END ? i : next | 1 << 16;
    }
    barrier();
    for (uint span = 1; span < length; span *= 2) {
        for (uint i = lid; i < length; i += WORKGROUP_SIZE) {
            uint link = pool[from + i], next = pool[from + (link & 0xFFFF)];
            pool[to + i] = (next & 0xFFFF) | ((link >> 16) + (next >> 16)) << 16;
        }
        barrier();
        uint swapped = from;
        from = to;
        to = swapped;
    }
    for (uint i = lid; i < length; i += WORKGROUP_SIZE) pool[to + length - 1 - (pool[from + i] >> 16)] = arc_ids[pool[i]];
    if (lid == 0 && gl_NumWorkGroups.x > 1) first_arc = atomicAdd(all_arcs, length);
    barrier();
    bool has_room = first_arc + length <= room && length <= room;
    for (uint i = lid; i < length && has_room; i += WORKGROUP_SIZE) {
        results[RESULT_WORDS * MOST_SLOTS + first_arc + i] = pool[to + i];
    }
    // If the device ended loops early, see check_loops in loop.glsl, the result is not valid.
    uint rounds = 0;
    for (uint i = 0; i < 2 * gl_NumWorkGroups.y; ++i) ++rounds;
    if (rounds < 2) has_ties = 1;
    barrier();
    if (lid == 0) put_result(has_room && has_ties == 0 ? DONE : HAS_TIES, chosen_pair / search.z, length);
}
