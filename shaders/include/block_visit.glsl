// Visits to blocks of nodes with consecutive ids. A workgroup takes a whole block and keeps the distances in shared
// memory and a few arcs of each node in registers. It relaxes round by round without access to memory outside, until
// nothing changes or the limit of rounds is reached: one slow block should not hold up a dispatch. Then it writes back
// the improved distances, relaxes the arcs that leave the block, and wakes the blocks that they improve.
// vkssp/prepared/blocks.py puts the arcs in order for this.
//
// No wake-up is lost. A node has work while its distance is below the one that its arcs were last relaxed with. A
// workgroup that improves a node of another block lists that block afterwards for the next dispatch, even if the block
// is being visited in this one. The visit in this dispatch may miss the improvement; the next one sees it, because a
// barrier lies between dispatches. So nothing depends on the order of two accesses within a dispatch, and no flag has
// to be cleared before distances are read. The price is an occasional visit that finds no work. For nodes that wait for
// a later threshold, each block keeps a lower bound.
//
// Needs loop.glsl and BLOCKS_BINDING defined, the first of seven bindings. The including file defines the word NEAR_LENGTH
// of `step`, the functions reach() and wake() (see below), the push constants num_nodes and heaviest, and the state's
// field `claimed`.

#include "block.glsl"

// Arc that is in no record.
struct Other {
    uint tail;  // its place in the block
    uint head, weight;
};

layout(std430, binding = BLOCKS_BINDING) coherent buffer Distances { uint dist[]; };
// RECORD_QUADS of each node, see Quad
layout(std430, binding = BLOCKS_BINDING + 1) readonly restrict buffer Records { uvec4 records[]; };
layout(std430, binding = BLOCKS_BINDING + 2) readonly restrict buffer Others { Other others[]; };
// Others of a block: leaving, staying.
layout(std430, binding = BLOCKS_BINDING + 3) readonly restrict buffer Ranges { uvec4 ranges[]; };
layout(std430, binding = BLOCKS_BINDING + 4) restrict buffer RelaxedWith { uint relaxed_with[]; };  // distance, by node
layout(std430, binding = BLOCKS_BINDING + 5) coherent buffer Blocks { Block blocks[]; };
layout(std430, binding = BLOCKS_BINDING + 6) coherent buffer Lists { uint lists[]; };  // two halves of each: near, far

layout(constant_id = 2) const uint BLOCK = 1024;
layout(constant_id = 3) const uint ROUNDS = 32;
layout(constant_id = 4) const uint PLACE_BITS = 10;
layout(constant_id = 5) const uint ROUNDS_AT_ONCE = 1;  // without a barrier between them
layout(constant_id = 6) const uint RECORD_QUADS = 1;    // quads of arcs in the record of a node
#define RELAX_READS_FIRST 0
#define ARCS_AT_ONCE 1
#include "improve.glsl"

const uint NODES_EACH = (BLOCK + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint NO_ARC = UNREACHABLE >> PLACE_BITS;  // the weight in the free parts of a record

shared uint block_dist[BLOCK];
shared uint block_found[BLOCK];  // distances at the start of the visit
shared uint others_of_block[4];  // as in `ranges`
shared uint changed[3];  // flags by round: one is set, one is read, one is cleared
shared uint next_entry;      // next entry of the near list for this workgroup
shared uint pending;     // least distance in the block of a node that has work

uint base, count;      // first node of the block, and their number
uint slot = 0;         // where the distances of the search begin
bool changes = false;  // whether this invocation improved a node of the block in this round

// Return the least distance that this visit does not process.
uint reach();

// Schedule a visit to a block in which a node has work at `distance`.
void wake(uint block, uint distance);

// Read a distance that other invocations may lower meanwhile; the next round sees what this round misses.
uint read_inside(uint place) {
    return atomicLoad(block_dist[place], gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

void set_changed(uint flag) {
    atomicStore(changed[flag], 1u, gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

// Four arcs of a node that stay in its block: the places of the heads, and the weights. A free part of a record leads
// back to the node.
struct Quad {
    uvec4 place, weight;
};

// Unpack a quad of a record. Each word holds the weight and, in the low bits, the place.
Quad unpack(uvec4 words) {
    return Quad(words & ((1u << PLACE_BITS) - 1), words >> PLACE_BITS);
}

// Return the distances through the arcs of a quad; a sum that does not fit becomes UNREACHABLE.
uvec4 through_quad(Quad quad, uint distance) {
    return distance + min(quad.weight, uvec4(UNREACHABLE - distance));
}

// Relax the arcs of a quad, and return the distances before. There is no branch and no read before: many atomic
// operations take as long as one, and a search spends most of its time here.
uvec4 relax_quad(Quad quad, uint distance) {
    uvec4 through = through_quad(quad, distance), before;
    for (uint i = 0; i < 4; ++i) before[i] = atomicMin(block_dist[quad.place[i]], through[i]);
    return before;
}

// Note whether the arcs of a quad improved distances, given the distances before.
void note_changes(Quad quad, uint distance, uvec4 before) {
    uvec4 through = through_quad(quad, distance);
    for (uint i = 0; i < 4; ++i) {
        changes = changes || through[i] < before[i];
        if (COUNTING > 0 && quad.weight[i] != NO_ARC) {
            ++relaxed;
            if (through[i] < before[i]) ++improved_count;
        }
    }
}

// Set `sum_overflow` if a sum does not fit.
void check_sums(uint node, uint distance) {
    for (uint i = 0; i < RECORD_QUADS; ++i) {
        Quad quad = unpack(records[node * RECORD_QUADS + i]);
        for (uint j = 0; j < 4; ++j) {
            if (quad.weight[j] != NO_ARC && extend(distance, quad.weight[j]) == UNREACHABLE) sum_overflow = true;
        }
    }
}

// Relax the arcs that stay in the block and are in no record, also those whose tail has not improved: there are few.
// This may miss the last improvements of tails, so relax_others() relaxes these arcs once more at the end.
void relax_staying() {
    for (uint i = others_of_block[2] + gl_LocalInvocationIndex; i < others_of_block[3]; i += WORKGROUP_SIZE) {
        Other arc = others[i];
        uint distance = read_inside(arc.tail), place = arc.head - base, through = extend(distance, arc.weight);
        if (distance >= reach()) continue;
        if (COUNTING > 0) ++relaxed;
        if (through >= read_inside(place) || through >= atomicMin(block_dist[place], through)) continue;
        if (COUNTING > 0) ++improved_count;
        changes = true;
    }
}

// Relax some of the arcs that are in no record, for tails that have relaxed their arcs, and wake the improved blocks.
// An invocation relaxes every WORKGROUP_SIZE-th arc from `at` on, the first of which is `first`.
void relax_others(Other first, uint at, uint end, uint first_of_search) {
    for (uint i = at; i < end; i += WORKGROUP_SIZE) {
        Other arc = first;
        if (i != at) arc = others[i];
        uint distance = block_dist[arc.tail];
        if (distance == UNREACHABLE) continue;
        uint head[1] = {slot + arc.head}, through[1] = {through_arc(distance, arc.weight)};
        improve(head, through);
        if (through[0] == UNREACHABLE) continue;
        wake(first_of_search + arc.head / BLOCK, through[0]);
    }
}

// Return whether some workgroups take more than one block. If so, a workgroup that has finished a block claims the
// next, because visits take between about 3 and 30 rounds.
bool claims() {
    return step[NEAR_LENGTH] > gl_NumWorkGroups.x;
}

// Visit a block of the graph. The blocks of a search may lie behind those of other searches, and so may its distances,
// see `slot`.
void visit(uint block, uint first_of_search) {
    uint lid = gl_LocalInvocationIndex;
    base = block * BLOCK;
    count = min(BLOCK, num_nodes - base);
    // For this invocation's nodes: their records, the distances that their arcs were relaxed with, the distances below
    // which they have work, and a bit for each node that has relaxed its arcs. All are in registers as long as the
    // loops over them are unrolled.
    Quad record[NODES_EACH * RECORD_QUADS];
    uint last[NODES_EACH], limit[NODES_EACH], working = 0;
    uint range = lid < 4 ? ranges[block][lid] : 0;  // requested together with the words of nodes
    [[unroll]] for (uint k = 0; k < NODES_EACH; ++k) {
        uint place = lid + k * WORKGROUP_SIZE;
        last[k] = limit[k] = 0;  // a place without a node never works
        if (place >= count) continue;
        [[unroll]] for (uint i = 0; i < RECORD_QUADS; ++i) {
            record[k * RECORD_QUADS + i] = unpack(records[(base + place) * RECORD_QUADS + i]);
        }
        last[k] = relaxed_with[slot + base + place];
        limit[k] = min(last[k], reach());
        block_dist[place] = block_found[place] = dist[slot + base + place];
    }
    if (lid == 0) {
        changed[0] = changed[1] = changed[2] = 0;
        pending = UNREACHABLE;
    }
    if (lid < 4) others_of_block[lid] = range;
    if (lid == 0) {
        for (uint i = WORKGROUP_SIZE; i < 4; ++i) others_of_block[i] = ranges[block][i];
    }
    barrier();

    uint flag = 0, next_flag = 1;
    for (uint round_number = 0;;) {
        changes = false;
        // Other invocations may see improvements only after the barrier, or at once, which saves a round: a barrier
        // costs as much as relaxing does.
        for (uint times = 0; times < ROUNDS_AT_ONCE; ++times) {
            [[unroll]] for (uint k = 0; k < NODES_EACH; ++k) {
                uint place = lid + k * WORKGROUP_SIZE;
                if (BLOCK % WORKGROUP_SIZE != 0 && place >= BLOCK) continue;
                if (COUNTING > 0 && place < count) ++visited;
                uint distance = read_inside(place);
                if (distance >= limit[k]) continue;
                if (COUNTING > 0) ++worked;
                last[k] = limit[k] = distance;
                working |= 1u << k;
                uvec4 before[RECORD_QUADS];
                [[unroll]] for (uint i = 0; i < RECORD_QUADS; ++i) {
                    before[i] = relax_quad(record[k * RECORD_QUADS + i], distance);
                }
                [[unroll]] for (uint i = 0; i < RECORD_QUADS; ++i) {
                    note_changes(record[k * RECORD_QUADS + i], distance, before[i]);
                }
            }
        }
        relax_staying();
        if (changes) set_changed(flag);
        barrier();
        bool goes_on = changed[flag] != 0;
        uint free_flag = 3 - flag - next_flag;
        if (lid == 0) changed[free_flag] = 0;
        round_number += ROUNDS_AT_ONCE;
        if (!goes_on || round_number >= ROUNDS) break;
        flag = next_flag;
        next_flag = free_flag;
    }

    // Few invocations relax more than one of the other arcs. The first is read while distances are written.
    uint first_other = others_of_block[0] + lid, end_other = others_of_block[3];
    Other other = Other(0, 0, 0);
    if (first_other < end_other) other = others[first_other];
    uint claimed = UNREACHABLE;  // written to shared memory later, so that the first subgroup does not wait for it
    if (lid == 0 && claims()) claimed = gl_NumWorkGroups.x + atomicAdd(state.claimed, 1);
    [[unroll]] for (uint k = 0; k < NODES_EACH; ++k) {
        uint place = lid + k * WORKGROUP_SIZE;
        if (place >= count) continue;
        uint distance = block_dist[place];
        if (distance < block_found[place]) atomicMin(dist[slot + base + place], distance);
        if (distance < last[k]) atomicMin(pending, distance);
        // A node that improved after its last turn relaxes no other arcs: its turn is in the next visit.
        if ((working >> k & 1) == 0 || distance != last[k]) {
            block_dist[place] = UNREACHABLE;
            continue;
        }
        relaxed_with[slot + base + place] = distance;
        if (distance >= UNREACHABLE - heaviest) check_sums(base + place, distance);
    }
    if (lid == 0) next_entry = claimed;
    buffer_barrier();  // otherwise improvements in the block might seem new to the arcs that stay
    // The last subgroup, for the others have more arcs to relax.
    if (lid == WORKGROUP_SIZE - 1 && pending != UNREACHABLE) wake(first_of_search + block, pending);
    relax_others(other, first_other, end_other, first_of_search);  // those that stay follow those that leave
    barrier();  // the next visit uses the same shared memory
}
