// Customization inside supernodes, or pieces of large ones, in shared memory: a workgroup takes some of them, each with
// some of its invocations. If the columns of a supernode (one for each ancestor) are more than fit beside the arcs
// between its nodes, several workgroups share them, and the arcs between nodes have a dispatch of their own. Nodes have
// their turns one after the other, with a barrier after each. Needs supernode_pairs.glsl.

// Words of shared memory.
layout(constant_id = 1) const uint FRONT_WORDS = 4096;

layout(push_constant) uniform Push {
    uint begin;  // in the list
#ifdef LISTED
    uint level;
#else
    uint end;
#endif
    uint lanes;  // invocations of a supernode, a power of two
    uint words;  // words of shared memory of a supernode
    uint turns;  // the largest number of turns of a supernode
    uint parts;  // the largest number of parts of the columns of a supernode, each of which has its own invocations
    uint stages;  // some of those below; with OUTSIDE all columns fit, and parts share the pairs of ancestors
};

// Arcs between nodes, columns, and pairs of ancestors.
const uint PAIRS = 1, COLUMNS = 2, OUTSIDE = 4;

shared uint front[FRONT_WORDS];

#include "saturated.glsl"

// The supernode of an invocation. The t-th pair of its nodes, see pair_at, has its upward weight in the t-th word from
// `base` on, and the downward one `pairs` words later. Then follow the columns: `count` upward weights of each node, then
// the downward ones.
Supernode of_lane;
uint lane, base, pairs, columns, part, first_column, count;
// The first entry of a column that an invocation takes, and the step to its next entry: places of nodes and columns.
// Without them each turn takes as long as divisions.
uvec2 own_entry, next_entry;

// Move to the next entry of an invocation.
void advance(inout uvec2 entry) {
    entry += next_entry;
    if (entry.y >= count) entry = uvec2(entry.x + 1, entry.y - count);
}

// Return the word of a node's arc to the first node of its supernode.
uint row_of(uint place) {
    return base + pairs_of(place);
}

// Return the word of the upward weight of a node's arc to a column; the downward one is `size * count` words later.
uint word_of(uint place, uint column) {
    return columns + place * count + column;
}

// Return the arc from a node to a column.
uint arc_to(uint place, uint column) {
    return first_arc_of(of_lane, place) + first_column + column;
}

// Let the nodes have their turns.
void process_turns();
#ifdef WITH_OUTSIDE
// Process the pairs of ancestors of a part.
void process_outside();
#endif

// Lower a weight in memory.
void lower_weight(uint word, uint value) {
    if (value < WEIGHT(word)) atomicMin(WEIGHT(word), value);
}

void enumerate_fronts() {
    uint each = WORKGROUP_SIZE / lanes;
    lane = gl_LocalInvocationIndex % lanes;
    uint last = (END - begin) * parts;
    bool shares_columns = (stages & OUTSIDE) == 0;
    for (uint start = gl_WorkGroupID.x * each; start < last; start += gl_NumWorkGroups.x * each) {
        uint item = start + gl_LocalInvocationIndex / lanes;
        part = item % parts;
        of_lane = SUPERNODE(ORDER(begin + min(item, last - 1) / parts));
        uint ancestor_count = of_lane.num_ancestors, width = (words - 2 * pairs_of(of_lane.size)) / (2 * of_lane.size);
        first_column = shares_columns ? min(part * width, ancestor_count) : 0;
        count = min(width, ancestor_count - first_column);
        if (item >= last || (shares_columns && (of_lane.size == 1 || (part > 0 && count == 0)))) of_lane.size = 0;
        uint size = of_lane.size, entries = size * count;
        base = gl_LocalInvocationIndex / lanes * words;
        pairs = pairs_of(size);
        columns = base + 2 * pairs;
        uint most = 0;
        if (gl_LocalInvocationIndex == 0) heaviest = 0;
        barrier();
        own_entry = uvec2(lane / max(count, 1), lane % max(count, 1));
        next_entry = uvec2(lanes / max(count, 1), lanes % max(count, 1));
        for (uint t = lane; t < pairs; t += lanes) {
            uvec2 pair = pair_at(t);
            uint arc = first_arc_of(of_lane, pair.x) + ancestor_count + pair.y;
            front[base + t] = noted(WEIGHT(2 * arc), most);
            front[base + pairs + t] = noted(WEIGHT(2 * arc + 1), most);
        }
        if ((stages & COLUMNS) != 0) {
            uvec2 entry = own_entry;
            for (uint i = lane; i < entries; i += lanes) {
                uint arc = arc_to(entry.x, entry.y);
                front[columns + i] = noted(WEIGHT(2 * arc), most);
                front[columns + entries + i] = noted(WEIGHT(2 * arc + 1), most);
                advance(entry);
            }
        }
        atomicMax(heaviest, most);
        barrier();
        // A path has an arc for each node and one more at most, and two such paths are added at most.
        are_small = heaviest < FAR / (2 * turns + 4);
        process_turns();
        // Parts that share pairs of ancestors have the same weights; one of them writes them.
        bool writes = shares_columns || (part == 0 && size > 1);
        if ((stages & COLUMNS) != 0 && writes) {
            uvec2 entry = own_entry;
            for (uint i = lane; i < entries; i += lanes) {
                uint arc = arc_to(entry.x, entry.y);
                WEIGHT(2 * arc) = known(front[columns + i]);
                WEIGHT(2 * arc + 1) = known(front[columns + entries + i]);
                advance(entry);
            }
        }
        for (uint t = lane; t < pairs && writes; t += lanes) {
            uvec2 pair = pair_at(t);
            uint arc = first_arc_of(of_lane, pair.x) + ancestor_count + pair.y;
            lower_weight(2 * arc, known(front[base + t]));
            lower_weight(2 * arc + 1, known(front[base + pairs + t]));
        }
#ifdef WITH_OUTSIDE
        if (!shares_columns) process_outside();
#endif
        barrier();
    }
    if (did_not_fit) atomicMax(status.overflow, 1);
    check_loops();
}
