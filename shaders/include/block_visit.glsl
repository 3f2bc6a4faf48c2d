// Visits to blocks of nodes with consecutive ids: a workgroup takes a whole block, keeps the distances in shared memory and a
// few arcs of each node in registers, and relaxes round by round without touching memory outside, until nothing changes
// or it has been enough: one slow block should not hold up a dispatch. Then it writes back what improved, relaxes the arcs
// that leave the block, and wakes the blocks that they improve. vkssp/prepared/blocks.py puts the arcs in order for this.
//
// No wake-up is lost. A node has work while its distance is below the one that its arcs were last relaxed with.
// Whoever improves a node of another block lists that block afterwards, for the next dispatch, even if it is being
// visited in this one: that visit may or may not have seen the improvement, the next one does, for a barrier lies
// between dispatches. So nothing depends on the order of two accesses within a dispatch, and no flag has to be
// cleared before distances are read; the price is a visit now and then that finds nothing to do. What waits for a
// later threshold is kept as a lower bound for each block.
//
// Needs loop.glsl and BLOCKS_BINDING defined, the first of seven bindings. Who includes it says what a step is, with
// `near_length`, and defines reach() and wake(), see below; and has push constants num_nodes and heaviest, and the state's
// field `claimed`.

#include "block.glsl"

// An arc that no record holds.
struct Other {
    uint tail;  // its place in the block
    uint head, weight;
};

layout(std430, binding = BLOCKS_BINDING) coherent buffer Distances { uint dist[]; };
layout(std430, binding = BLOCKS_BINDING + 1) readonly restrict buffer Records { uvec4 records[]; };  // of each node, see Record
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
#define RELAX_READS_FIRST 0
#define ARCS_AT_ONCE 1
#include "improve.glsl"

const uint NODES_EACH = (BLOCK + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint NO_ARC = UNREACHABLE >> PLACE_BITS;  // the weight in the free parts of a record

shared uint block_dist[BLOCK];
shared uint block_found[BLOCK];  // what the visit began with
shared uvec4 others_of_block;
shared uint changed[3];  // by round: one that is set, one that is read, one that is cleared
shared uint next_entry;      // of the near list, that this workgroup takes
shared uint pending;     // least distance in the block that its node's arcs were not relaxed with

uint base, count;      // first node of the block, and their number
uint slot = 0;         // where the distances of the search begin
bool changes = false;  // something in the block, in this round

// Distances that are not worked on in this visit, all from this one on.
uint reach();

// Have a block visited where a node has work at some distance.
void wake(uint block, uint distance);

// Others lower it meanwhile; the next round sees what this one does not.
uint read_inside(uint place) {
    return atomicLoad(block_dist[place], gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

void set_changed(uint flag) {
    atomicStore(changed[flag], 1u, gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

// Some arcs of a node, which stay in its block: the places of the heads, and the weights. Where there is none, it leads
// back to the node.
struct Record {
    uvec4 place, weight;
};

// In each word the weight and, in the low bits, the place.
Record unpack(uvec4 words) {
    return Record(words & ((1u << PLACE_BITS) - 1), words >> PLACE_BITS);
}

// Relax the arcs of a record. There is no branch, and nothing is read before: the answers of four atomic operations come as
// soon as that of one, and a search spends most of its time here.
void relax_record(Record record, uint distance) {
    uvec4 through, before;
    uint room = UNREACHABLE - distance;  // a sum that does not fit becomes UNREACHABLE
    for (uint i = 0; i < 4; ++i) through[i] = distance + min(record.weight[i], room);
    for (uint i = 0; i < 4; ++i) before[i] = atomicMin(block_dist[record.place[i]], through[i]);
    for (uint i = 0; i < 4; ++i) {
        changes = changes || through[i] < before[i];
        if (COUNTING > 0 && record.weight[i] != NO_ARC) {
            ++relaxed;
            if (through[i] < before[i]) ++improved_count;
        }
    }
}

// Find out whether some sum does not fit.
void check_sums(Record record, uint distance) {
    for (uint i = 0; i < 4; ++i) {
        if (record.weight[i] != NO_ARC && extend(distance, record.weight[i]) == UNREACHABLE) sum_overflow = true;
    }
}

// Relax the arcs of the block that stay in it and are in no record, also those whose tail has not improved: there are
// few. Whether the last improvements of tails were seen nobody knows, so relax_others() does it once more at the end.
void relax_staying() {
    for (uint i = others_of_block.z + gl_LocalInvocationIndex; i < others_of_block.w; i += WORKGROUP_SIZE) {
        Other arc = others[i];
        uint distance = read_inside(arc.tail), place = arc.head - base, through = extend(distance, arc.weight);
        if (distance >= reach()) continue;
        if (COUNTING > 0) ++relaxed;
        if (through >= read_inside(place) || through >= atomicMin(block_dist[place], through)) continue;
        if (COUNTING > 0) ++improved_count;
        changes = true;
    }
}

// Relax some of the arcs that no record holds, of the nodes that have worked, and wake the blocks that they improve.
void relax_others(uint first, uint end, uint first_of_search) {
    for (uint i = first + gl_LocalInvocationIndex; i < end; i += WORKGROUP_SIZE) {
        Other arc = others[i];
        uint distance = block_dist[arc.tail];
        if (distance == UNREACHABLE) continue;
        uint head[1] = {slot + arc.head}, through[1] = {through_arc(distance, arc.weight)};
        improve(head, through);
        if (through[0] == UNREACHABLE) continue;
        wake(first_of_search + arc.head / BLOCK, through[0]);
    }
}

// Whether some workgroups take more than one block. Then whoever has finished one claims the next, for visits take now 3
// rounds and now 30.
bool claims() {
    return step.near_length > gl_NumWorkGroups.x;
}

// Visit a block of the graph. Those of a search may come after those of others, and so may its distances, see `slot`.
void visit(uint block, uint first_of_search) {
    uint lid = gl_LocalInvocationIndex;
    base = block * BLOCK;
    count = min(BLOCK, num_nodes - base);
    // Of this invocation's nodes: their records, the distances that their arcs were relaxed with, those below which they
    // have work, and, a bit for each, which have worked. All are in registers as long as the loops over them are unrolled.
    Record record[NODES_EACH];
    uint last[NODES_EACH], limit[NODES_EACH], working = 0;
    [[unroll]] for (uint k = 0; k < NODES_EACH; ++k) {
        uint place = lid + k * WORKGROUP_SIZE;
        last[k] = limit[k] = 0;  // a place without a node never works
        if (place >= count) continue;
        record[k] = unpack(records[base + place]);
        last[k] = relaxed_with[slot + base + place];
        limit[k] = min(last[k], reach());
        block_dist[place] = block_found[place] = dist[slot + base + place];
    }
    if (lid == 0) {
        changed[0] = changed[1] = changed[2] = 0;
        pending = UNREACHABLE;
        others_of_block = ranges[block];
    }
    barrier();

    uint flag = 0, next_flag = 1;
    for (uint round_number = 0;;) {
        changes = false;
        // Others may see what is improved here only after the barrier, or at once, which saves a round: a barrier costs as
        // much as relaxing does.
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
                relax_record(record[k], distance);
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

    if (lid == 0) next_entry = claims() ? gl_NumWorkGroups.x + atomicAdd(state.claimed, 1) : UNREACHABLE;
    [[unroll]] for (uint k = 0; k < NODES_EACH; ++k) {
        uint place = lid + k * WORKGROUP_SIZE;
        if (place >= count) continue;
        uint distance = block_dist[place];
        if (distance < block_found[place]) atomicMin(dist[slot + base + place], distance);
        if (distance < last[k]) atomicMin(pending, distance);
        // What improved after its last turn relaxes no other arcs: it has a turn in the next visit.
        if ((working >> k & 1) == 0 || distance != last[k]) {
            block_dist[place] = UNREACHABLE;
            continue;
        }
        relaxed_with[slot + base + place] = distance;
        if (distance >= UNREACHABLE - heaviest) check_sums(unpack(records[base + place]), distance);
    }
    buffer_barrier();  // or what is improved in the block might seem to be new to those that stay
    relax_others(others_of_block.x, others_of_block.y, first_of_search);
    relax_others(others_of_block.z, others_of_block.w, first_of_search);
    if (lid == 0 && pending != UNREACHABLE) wake(first_of_search + block, pending);
    barrier();  // the next visit uses the same shared memory
}
