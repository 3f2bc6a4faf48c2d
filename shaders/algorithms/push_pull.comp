// One dispatch of push_pull: pushing along arcs or pulling, whichever looks at fewer arcs (Beamer, Asanovic, Patterson,
// 2012; for shortest paths Chakaravarthy, Checconi, Murali, Petrini, Sabharwal, 2014).
//
// Few changed nodes push: they relax the arcs that leave them. If many nodes have changed, all nodes pull: each looks at
// the arcs that enter it, light ones first. No node that changed is nearer than `nearest`, so an arc that weighs at least
// the difference to it improves nothing, and neither do the arcs behind it. In a graph with hubs most nodes are little
// farther than the hubs, and look at one arc in thirty.
//
// Nothing depends on the order of two accesses within a dispatch: a node that changes has its bit set, and its arcs are
// relaxed in the next dispatch, whatever this one has seen of the change.
//
// A node handles the first PIECE arcs of its row; the others are divided into pieces, which count as nodes of their own.
//
// The size of a workgroup is a power of two: with a subgroup that is partly empty beside others llvmpipe loses count of
// barriers here.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "split.glsl"
#include "push_pull_state.glsl"
#include "loop.glsl"

layout(std430, binding = 3) coherent buffer Distances { uint dist[]; };
layout(std430, binding = 4) readonly restrict buffer FirstOut { uint first_out[]; };
layout(std430, binding = 5) readonly restrict buffer Arcs { uvec2 arcs[]; };  // head, weight
layout(std430, binding = 6) readonly restrict buffer FirstIn { uint first_in[]; };
layout(std430, binding = 7) readonly restrict buffer ArcsIn { uvec2 arcs_in[]; };  // tail, weight; light arcs first
layout(std430, binding = 8) readonly restrict buffer Pieces { uvec2 pieces[]; };   // node, first arc; out, then in
layout(std430, binding = 9) coherent buffer Changed { uint changed[]; };           // three bits for each node
// The same distances, for reads that may be out of date: without `coherent` a nearer cache serves them.
layout(std430, binding = 10) readonly buffer SameDistances { uint same_dist[]; };
#include "targets.glsl"
#include "reduce.glsl"
#define NO_SUBGROUPS
#include "scan.glsl"

layout(constant_id = 2) const uint PIECE = 256;
layout(constant_id = 3) const uint STEPS = 2;         // times that an invocation looks at ARCS_AT_ONCE arcs of a node
layout(constant_id = 4) const uint LEAST_LANES = 8;   // invocations that look at the other arcs of a node, at least
// Pieces that a workgroup takes next to each other: 32 bytes are read at once.
const uint PIECES_AT_ONCE = 4;
#define RELAX_READS_FIRST 1
#define RELAX_READ(node) same_dist[node]

layout(push_constant) uniform Push {
    uint num_nodes;
    uint pieces_out, pieces_in;
    uint most_pushed;  // arcs
};
#include "improve.glsl"

uint nearest;            // of `step`
uint bits_in, bits_out;  // starts of the bits that are read and set

shared uint arcs_before[WORKGROUP_SIZE + 1];  // of the entries in lower slots
shared uvec2 slot_entry[WORKGROUP_SIZE];      // first arc, distance
shared uint most_bits;

shared uvec2 rest[WORKGROUP_SIZE];  // arcs that one invocation has left: first, end
shared uint rest_best[WORKGROUP_SIZE];
shared uint rest_count[2];
const uint TILE_WORDS = (WORKGROUP_SIZE + 31) / 32;
shared uint tile_bits[2][TILE_WORDS];  // of this tile, and of the one before it
shared uint degree_sum;

uint own_nearest = UNREACHABLE, own_degree = 0;
uint turn = 0;  // element of rest_count that the next pull_row() uses

uint num_words() {
    return (num_nodes + 31) / 32;
}

// Items of a workgroup: chunks of `chunk` items with consecutive numbers, of which every workgroup takes one in turn. So the
// nodes with most arcs, which are often next to each other, are spread over the workgroups.
uint items_each(uint items, uint chunk) {
    uint chunks = (items + chunk - 1) / chunk;
    return (chunks + gl_NumWorkGroups.x - 1) / gl_NumWorkGroups.x * chunk;
}

uint item_of(uint number, uint chunk) {
    return (number / chunk * gl_NumWorkGroups.x + gl_WorkGroupID.x) * chunk + number % chunk;
}

uint degree_of(uint node) {
    return first_out[node + 1] - first_out[node];
}

// Note that a node has changed.
void mark(uint node) {
    uint degree = degree_of(node), bit = 1u << (node % 32);  // read meanwhile
    if ((atomicOr(changed[bits_out + node / 32], bit) & bit) == 0) own_degree += degree;
}

bool has_changed(uint node) {
    return (changed[bits_in + node / 32] >> (node % 32) & 1) != 0;
}

// Relax the arcs of the workgroup's entries, one or none for each invocation. All invocations must call this.
void expand(uint first, uint degree, uint distance) {
    uint slot, before, total = workgroup_scan(degree, slot, before);
    arcs_before[slot + 1] = before + degree;
    if (gl_LocalInvocationIndex == 0) arcs_before[0] = 0;
    slot_entry[slot] = uvec2(first, distance);
    barrier();
    for (uint start = 0; start < total; start += ARCS_AT_ONCE * WORKGROUP_SIZE) {
        uint head[ARCS_AT_ONCE], through[ARCS_AT_ONCE], place[ARCS_AT_ONCE];
        uvec2 arc[ARCS_AT_ONCE];
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            uint at = start + i * WORKGROUP_SIZE + gl_LocalInvocationIndex, low = 0, high = WORKGROUP_SIZE;
            while (high - low > 1) {  // the slot that this arc belongs to
                uint middle = (low + high) / 2;
                if (arcs_before[middle] <= at) low = middle;
                else high = middle;
            }
            place[i] = at < total ? slot_entry[low].x + at - arcs_before[low] : NO_INDEX;
            through[i] = slot_entry[low].y;
        }
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            arc[i] = place[i] != NO_INDEX ? PAIR(arcs, place[i]) : uvec2(0, NO_INDEX);
        }
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            head[i] = arc[i].x;
            through[i] = place[i] != NO_INDEX ? through_arc(through[i], arc[i].y) : UNREACHABLE;
        }
        improve(head, through);
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            if (through[i] == UNREACHABLE) continue;
            own_nearest = min(own_nearest, through[i]);
            mark(head[i]);
        }
    }
    barrier();  // the next call uses the same shared memory
}

// Mark the seeds, which lie behind the bits: node, distance.
void mark_seeds() {
    uint first = 3 * num_words(), stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint i = gl_GlobalInvocationID.x; i < step[NUM_SEEDS]; i += stride) {
        mark(changed[first + 2 * i]);
        own_nearest = min(own_nearest, changed[first + 2 * i + 1]);
    }
}

// Let the changed nodes push: some bits of a word for each invocation, one bit in each turn.
void push_nodes() {
    uint lid = gl_LocalInvocationIndex, words = num_words(), each = items_each(words, 1);
    for (uint start = 0; start < each; start += WORKGROUP_SIZE) {
        uint word = item_of(start + lid, 1);
        uint bits = start + lid < each && word < words ? changed[bits_in + word] : 0;
        if (lid == 0) most_bits = 0;
        barrier();
        if (bits != 0) atomicMax(most_bits, uint(bitCount(bits)));
        barrier();
        uint turns = most_bits;
        for (uint taken = 0; taken < turns; ++taken) {
            uint first = 0, degree = 0, distance = 0;
            if (bits != 0) {
                uint node = 32 * word + uint(findLSB(bits));
                bits &= bits - 1;
                first = first_out[node];
                degree = min(first_out[node + 1] - first, PIECE);
                distance = dist[node];
                if (COUNTING > 0) {
                    ++visited;
                    ++worked;
                }
            }
            expand(first, degree, distance);
        }
        barrier();
    }
}

void push_pieces() {
    uint lid = gl_LocalInvocationIndex, each = items_each(pieces_out, PIECES_AT_ONCE);
    for (uint start = 0; start < each; start += WORKGROUP_SIZE) {
        uint first = 0, degree = 0, distance = 0, number = item_of(start + lid, PIECES_AT_ONCE);
        if (lid == 0) most_bits = 0;
        barrier();
        if (start + lid < each && number < pieces_out) {
            uvec2 piece = pieces[number];
            if (has_changed(piece.x)) {
                first = piece.y;
                degree = min(first_out[piece.x + 1] - first, PIECE);
                distance = dist[piece.x];
                atomicMax(most_bits, 1u);
            }
        }
        barrier();
        if (most_bits != 0) expand(first, degree, distance);
        barrier();
    }
}

// Return the weight from which on an arc into a node cannot improve it. An arc that leads beyond the largest distance
// must be looked at, for its sum is to be reported.
uint useful_below(uint distance) {
    return distance == UNREACHABLE ? UNREACHABLE : distance - min(distance, nearest);
}

// Look at the arcs that single invocations have left, several invocations at those of a row.
void pull_rest(uint count) {
    uint lanes = LEAST_LANES;
    while (2 * lanes * count <= WORKGROUP_SIZE) lanes *= 2;
    lanes = min(lanes, WORKGROUP_SIZE);
    uint lane = gl_LocalInvocationIndex % lanes, groups = WORKGROUP_SIZE / lanes, i = gl_LocalInvocationIndex / lanes;
    for (i = i < groups ? i : count; i < count; i += groups) {
        uvec2 row = rest[i];
        for (uint at = row.x + lane; at < row.y; at += ARCS_AT_ONCE * lanes) {
            uvec2 arc[ARCS_AT_ONCE];
            uint tail[ARCS_AT_ONCE];
            for (uint j = 0; j < ARCS_AT_ONCE; ++j) {
                arc[j] = at + j * lanes < row.y ? PAIR(arcs_in, at + j * lanes) : uvec2(0, NO_INDEX);
            }
            uint known = atomicLoad(rest_best[i], gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
            uint below = useful_below(known), best = known;
            if (arc[0].y >= below) break;
            for (uint j = 0; j < ARCS_AT_ONCE; ++j) tail[j] = arc[j].y < below ? same_dist[arc[j].x] : UNREACHABLE;
            for (uint j = 0; j < ARCS_AT_ONCE; ++j) {
                if (tail[j] != UNREACHABLE) best = min(best, through_arc(tail[j], arc[j].y));
            }
            if (best < known) atomicMin(rest_best[i], best);
        }
    }
}

// Look at the arcs from `first` to `end` of a node or piece with `best` as its distance, and return the new distance.
// If `has_row`, the invocation has such a row. All invocations must call this.
uint pull_row(bool has_row, uint first, uint end, uint best) {
    uint lid = gl_LocalInvocationIndex, place = NO_INDEX;
    for (uint taken = 0; has_row && taken < STEPS; ++taken) {
        uvec2 arc[ARCS_AT_ONCE];
        uint tail[ARCS_AT_ONCE], below = useful_below(best);
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) arc[i] = first + i < end ? PAIR(arcs_in, first + i) : uvec2(0, NO_INDEX);
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) tail[i] = arc[i].y < below ? same_dist[arc[i].x] : UNREACHABLE;
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            if (tail[i] != UNREACHABLE) best = min(best, through_arc(tail[i], arc[i].y));
        }
        first += ARCS_AT_ONCE;
        has_row = first < end && arc[ARCS_AT_ONCE - 1].y < useful_below(best);
    }
    if (has_row) {
        place = atomicAdd(rest_count[turn], 1);
        rest[place] = uvec2(first, end);
        rest_best[place] = best;
    }
    barrier();
    uint count = rest_count[turn];
    turn = 1 - turn;
    if (lid == 0) rest_count[turn] = 0;
    if (count != 0) {
        pull_rest(count);
        barrier();
        if (place != NO_INDEX) best = rest_best[place];
        barrier();  // the next call uses the same shared memory
    }
    return best;
}

// Lower the distance of a node, and return whether it was larger.
bool lower(uint node, uint distance) {
    if (distance >= atomicMin(dist[node], distance)) return false;
    if (COUNTING > 0) ++improved_count;
    own_nearest = min(own_nearest, distance);
    return true;
}

void pull_nodes() {
    uint lid = gl_LocalInvocationIndex, stride = gl_NumWorkGroups.x * WORKGROUP_SIZE, side = 0;
    for (uint start = gl_WorkGroupID.x * WORKGROUP_SIZE; start < num_nodes; start += stride) {
        uint node = start + lid, first = 0, end = 0, before = 0;
        bool has_row = false;
        if (node < num_nodes) {
            if (COUNTING > 0) ++visited;
            before = dist[node];
            first = first_in[node];
            end = first_in[node + 1];
            has_row = first < end && before > nearest;
            if (COUNTING > 0 && has_row) ++worked;
        }
        bool has_pieces = end - first > PIECE;
        uint best = pull_row(has_row, first, min(end, first + PIECE), before);
        if (best < before) {
            if (has_pieces) {  // they may lower the distance, and mark the node, too
                if (lower(node, best)) mark(node);
            } else {  // no other invocation lowers it, so that nothing waits for the distance of before
                atomicMin(dist[node], best);
                if (COUNTING > 0) ++improved_count;
                own_nearest = min(own_nearest, best);
                own_degree += degree_of(node);
                atomicOr(tile_bits[side][lid / 32], 1u << (node % 32));
            }
        }
        barrier();
        // Bits of the tile after the next one are set only after another barrier.
        if (lid < TILE_WORDS && tile_bits[side][lid] != 0) {
            atomicOr(changed[bits_out + start / 32 + lid], tile_bits[side][lid]);
            tile_bits[side][lid] = 0;
        }
        side = 1 - side;
    }
}

void pull_pieces() {
    uint lid = gl_LocalInvocationIndex, stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint start = gl_WorkGroupID.x * WORKGROUP_SIZE; start < pieces_in; start += stride) {
        uint node = 0, first = 0, end = 0, before = 0;
        bool has_row = start + lid < pieces_in;
        if (has_row) {
            uvec2 piece = pieces[pieces_out + start + lid];
            node = piece.x;
            first = piece.y;
            end = min(first_in[node + 1], first + PIECE);
            before = dist[node];
            has_row = before > nearest;
        }
        uint best = pull_row(has_row, first, end, before);
        if (best < before && lower(node, best)) mark(node);
        barrier();  // the next call uses the same shared memory
    }
}

// Decide what the next dispatch does. It is the last thing of all, so it reads everything at once, before it writes.
void advance() {
    uint next_nearest = state.next_nearest, next_degree = state.next_degree;
    finish_iteration(step[PHASE], nearest, UNREACHABLE, 0, max(num_nodes, 1) - 1);
    state.next_nearest = UNREACHABLE;
    state.next_degree = 0;
    if (step[PHASE] == PULL) loop.step[PULLS] = step[PULLS] + 1;
    loop.step[PHASE] = next_degree > most_pushed ? PULL : PUSH;
    loop.step[NEAREST] = next_nearest;
    // Nodes as far as the best target may still be found, which paths lead through.
    if (next_nearest == UNREACHABLE || update_best() < next_nearest) loop.step[DONE] = 1;
}

void main() {
    if (gl_LocalInvocationIndex == 0) {
        rest_count[0] = rest_count[1] = 0;
        degree_sum = 0;
    }
    if (gl_LocalInvocationIndex < TILE_WORDS) {
        tile_bits[0][gl_LocalInvocationIndex] = tile_bits[1][gl_LocalInvocationIndex] = 0;
    }
    if (search_is_over()) return;
    nearest = step[NEAREST];
    uint third = step[ITERATIONS] % 3, words = num_words(), stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    bits_in = third * words;
    bits_out = (third + 1) % 3 * words;
    uint bits_clear = (third + 2) % 3 * words;
    for (uint word = gl_GlobalInvocationID.x; word < words; word += stride) changed[bits_clear + word] = 0;
    if (step[PHASE] == SEED) {
        mark_seeds();
    } else if (step[PHASE] == PUSH) {
        push_nodes();
        push_pieces();
    } else {
        pull_nodes();
        pull_pieces();
    }
    own_nearest = workgroup_min(own_nearest);
    if (own_degree != 0) atomicAdd(degree_sum, own_degree);
    barrier();
    if (gl_LocalInvocationIndex == 0 && own_nearest != UNREACHABLE) {
        atomicMin(state.next_nearest, own_nearest);
        atomicAdd(state.next_degree, degree_sum);
    }
    if (last_workgroup() && gl_LocalInvocationIndex == 0) advance();
}
