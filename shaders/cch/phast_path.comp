// The path of a search, after all arcs have been replaced: first the parents of the nodes on shortest paths, then the
// path from parent to parent. The parent of a node is the tail of the first of its incoming arcs that fits its distance,
// as in path_parents.comp for all nodes. Pointers to ancestors are doubled until they reach the seed, so that each node
// knows its place on the path. The kernel also clears the marks. A workgroup does this for each path.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "split.glsl"
#define WORK_BINDING 3
#define MARKS_BINDING 4
#include "unpack.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 1) const uint ROOM = 1024;  // most nodes whose pointers are in shared memory, 65,536 at most
const uint AT_ONCE = 4;  // arcs whose reads overlap
layout(std430, binding = 0) readonly restrict buffer Rows { uint first_in[]; };
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs_in[]; };  // tail, weight
// By slot: `done`, weight, index of the seed and of the target, number of arcs, place of the first; then the ids
// of the arcs of all paths, from seed to target. The twin of RESULT in vkssp/cch/unpack.py.
layout(std430, binding = 2) writeonly restrict buffer Results { uint results[]; };
layout(std430, binding = 5) readonly restrict buffer ArcIds { WORDS arc_ids[]; };  // by place in arcs_in[]
const uint RESULT_WORDS = 6;

layout(push_constant) uniform Push {
    uint most;
    uint num_nodes;
    uint marks_each;
    uint room;  // for the arcs of all paths
};

shared uint pointers[2 * ROOM], marked[ROOM / 32 + 1];
shared uint start, seed, first_arc, has_ended_early;

// Store the head of an arc, once.
void keep_head(uint i) {
    uvec4 arc = LIST(most + 2 * i), more = LIST(most + 2 * i + 1);
    uint head = arc.z % 2 == 0 ? arc.y : arc.x;
    if (atomicCompSwap(MARK_OF(head), 0, NONE) != 0) return;
    uint place = atomicAdd(HEADER.num_found, 1);
    if (place >= most) return;
    LIST(place) = uvec4(head, arc.w + more.z, NONE, place);
    atomicExchange(MARK_OF(head), place + 1);
}

// Return the index of the first seed at a node on a shortest path, NO_INDEX if none is there. A seed at such a node, at
// the distance that the node has, has a shortest path, too, and is among those of the path.
uint seed_at(uint rank, uint first_pair, uint num_jobs, uint num_targets) {
    uint found = NO_INDEX;
    for (uint i = first_pair; i < first_pair + num_jobs; ++i) {
        if (jobs[i].y == rank) found = min(found, (jobs[i].x - first_pair) / num_targets);
    }
    return found;
}

void find_parent(uint place, uint first_pair, uint num_jobs) {
    uint rank = LIST(place).x, distance = LIST(place).y;
    bool is_over = seed_at(rank, first_pair, num_jobs, 1) != NO_INDEX;
    uint end = first_in[rank + 1];
    for (uint k = first_in[rank]; k < end && !is_over; k += AT_ONCE) {
        uvec2 arcs[AT_ONCE];
        uint before[AT_ONCE], from[AT_ONCE];
        for (uint i = 0; i < AT_ONCE; ++i) arcs[i] = PAIR(arcs_in, min(k + i, end - 1));
        for (uint i = 0; i < AT_ONCE; ++i) before[i] = arcs[i].x == rank ? 0 : MARK_OF(arcs[i].x);
        for (uint i = 0; i < AT_ONCE; ++i) from[i] = before[i] == 0 ? UNREACHABLE : LIST(before[i] - 1).y;
        for (uint i = 0; i < AT_ONCE && k + i < end; ++i) {
            if (is_over || from[i] == UNREACHABLE || extend(from[i], arcs[i].y) != distance) continue;
            LIST(place).z = k + i;
            LIST(place).w = before[i] - 1;
            is_over = true;
        }
    }
}

// Pointers to ancestors, each with the number of arcs up to there, and marks of the nodes on the path: in shared memory,
// or, of many nodes, where the arcs of the hierarchy were. There are two arrays, read and written in turn.
uvec2 pointer(bool is_shared, uint from, uint place) {
    if (is_shared) return uvec2(pointers[from * ROOM + place] & 0xFFFF, pointers[from * ROOM + place] >> 16);
    uvec4 both = LIST(most + 2 * place);
    return from == 0 ? both.xy : both.zw;
}

void put_pointer(bool is_shared, uint from, uint place, uvec2 to) {
    if (is_shared) pointers[from * ROOM + place] = to.x | to.y << 16;
    else if (from == 0) LIST(most + 2 * place).xy = to;
    else LIST(most + 2 * place).zw = to;
}

// Set some bits of a node's mark, and return those that were set before.
uint mark(bool is_shared, uint place, uint bit) {
    if (is_shared) return atomicOr(marked[place / 32], bit << place % 32) >> place % 32 & 1;
    return atomicOr(LIST(most + 2 * place + 1).x, bit);
}

void synchronize() {
    memoryBarrierBuffer();
    barrier();
}

void put_result(uint done, uint length) {
    uint first = RESULT_WORDS * gl_WorkGroupID.y;
    HEADER.done = done;
    results[first + 1] = HEADER.weight;
    results[first + 2] = seed;
    results[first + 3] = HEADER.target;
    results[first + 4] = length;
    results[first + 5] = first_arc;
    results[first] = done;
}

void main() {
    uint lid = gl_LocalInvocationIndex, items = HEADER.num_items;
    uint first_pair = HEADER.first_pair, num_jobs = HEADER.num_jobs;
    bool fits = items <= most && HEADER.has_no_room == 0;
    if (HEADER.done != 0) {  // not chosen, or the result of an earlier submission
        if (lid == 0 && HEADER.done == LEFT) put_result(LEFT, 0);
        return;
    }
    if (fits && HEADER.is_split == 0 && HEADER.next_item < items) return;  // there is more to replace
    if (lid == 0) {
        has_ended_early = first_arc = 0;
        seed = NO_INDEX;
    }
    if (fits) {
        for (uint i = lid; i < items; i += WORKGROUP_SIZE) keep_head(i);
    }
    synchronize();
    uint count = HEADER.num_found;
    if (!fits || count > most) {
        if (lid == 0) put_result(FAILED, 0);
        return;
    }
    for (uint place = lid; place < count; place += WORKGROUP_SIZE) find_parent(place, first_pair, num_jobs);
    if (lid == 0) start = MARK_OF(jobs[first_pair].z) - 1;  // NO_INDEX if the target was not found
    synchronize();
    bool is_shared = count <= ROOM, is_found = start < count;
    for (uint place = lid; place < count; place += WORKGROUP_SIZE) MARK_OF(LIST(place).x) = 0;
    for (uint i = lid; i < items; i += WORKGROUP_SIZE) BITS_OF(LIST(most + 2 * i).z) = 0;
    synchronize();  // the place of the arcs is used for pointers now
    for (uint i = lid; i < ROOM / 32 + 1; i += WORKGROUP_SIZE) marked[i] = 0;
    for (uint place = lid; place < count; place += WORKGROUP_SIZE) {
        uint parent = LIST(place).w;
        put_pointer(is_shared, 0, place, uvec2(parent, parent == place ? 0 : 1));
        if (!is_shared) LIST(most + 2 * place + 1).x = 0;
    }
    synchronize();
    uint from = 0;
    if (is_found) {
        if (lid == 0) mark(is_shared, start, 1);
        for (uint span = 1; span < 2 * count; span *= 2) {
            if (!is_shared) memoryBarrierBuffer();
            barrier();
            // When the target points to the seed, all nodes between do.
            if (pointer(is_shared, from, pointer(is_shared, from, start).x).y == 0) break;
            for (uint place = lid; place < count; place += WORKGROUP_SIZE) {
                uvec2 to = pointer(is_shared, from, place), next = pointer(is_shared, from, to.x);
                put_pointer(is_shared, 1 - from, place, uvec2(next.x, to.y + next.y));
                if (mark(is_shared, place, 0) != 0) mark(is_shared, to.x, 1);
            }
            from = 1 - from;
        }
    }
    synchronize();
    uint root = is_found ? pointer(is_shared, from, start).x : 0;
    uint length = is_found ? pointer(is_shared, from, start).y : 0;
    if (lid == 0) {
        seed = is_found ? seed_at(LIST(root).x, first_pair, num_jobs, HEADER.num_targets) : NO_INDEX;
        first_arc = seed == NO_INDEX ? 0 : atomicAdd(headers[0].all_arcs, length);
    }
    barrier();
    bool has_room = first_arc + length <= room && length <= room;
    if (seed != NO_INDEX && has_room) {
        for (uint place = lid; place < count; place += WORKGROUP_SIZE) {
            uint depth = pointer(is_shared, from, place).y;
            if (depth == 0 || mark(is_shared, place, 0) == 0) continue;
            results[RESULT_WORDS * MOST_SLOTS + first_arc + depth - 1] = WORD(arc_ids, LIST(place).z);
        }
    }
    // If the device ended loops early, see check_loops in loop.glsl, the result is not valid.
    uint rounds = 0;
    for (uint i = 0; i < 2 * gl_NumWorkGroups.y; ++i) ++rounds;
    if (rounds < 2) has_ended_early = 1;
    barrier();
    if (lid == 0) {
        put_result(has_ended_early != 0 || !has_room ? FAILED : seed == NO_INDEX ? CONTRADICTED : DONE, length);
    }
}
