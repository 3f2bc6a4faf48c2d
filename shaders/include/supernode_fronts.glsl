// Customization inside supernodes in shared memory: a workgroup takes whole supernodes, each with some of its
// invocations. The arcs between nodes of a supernode stay there all the time, those to its ancestors some columns (one
// for each ancestor) at a time. Nodes have their turns one after the other, with a barrier after each. Needs
// supernode_pairs.glsl.

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
    uint parts;  // the largest number of parts of the columns of a supernode
};

shared uint front[FRONT_WORDS];

// The supernode of an invocation. The t-th pair of its nodes, see pair_at, has its upward weight in the t-th word from
// `base` on, and the downward one `pairs` words later. Then follow the columns: `count` upward weights of each node, then
// the downward ones.
Supernode of_lane;
uint lane, base, pairs, columns, first_column, count;

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

// Lower a weight in shared memory, which no other invocation writes to, to the sum of two others.
void lower(uint word, uint one, uint other) {
    uint first = front[one], second = front[other];
    if (first == UNREACHABLE || second == UNREACHABLE) return;
    uint sum = extend(first, second);
    if (sum == UNREACHABLE) atomicMax(status.overflow, 1);
    else if (sum < front[word]) front[word] = sum;
}

// Process the columns in shared memory.
void process_columns();
// Process the pairs of nodes before and after the columns.
void process_pairs_first();
void process_pairs_last();

void enumerate_fronts() {
    uint each = WORKGROUP_SIZE / lanes;
    lane = gl_LocalInvocationIndex % lanes;
    uint last = END;
    for (uint start = begin + gl_WorkGroupID.x * each; start < last; start += gl_NumWorkGroups.x * each) {
        uint g = start + gl_LocalInvocationIndex / lanes;
        of_lane = SUPERNODE(ORDER(min(g, last - 1)));
        if (g >= last || of_lane.size == 1) of_lane.size = 0;
        uint size = of_lane.size, ancestor_count = of_lane.num_ancestors;
        base = gl_LocalInvocationIndex / lanes * words;
        pairs = pairs_of(size);
        columns = base + 2 * pairs;
        uint width = size == 0 ? 0 : min(ancestor_count, (words - 2 * pairs) / (2 * size));
        for (uint t = lane; t < pairs; t += lanes) {
            uvec2 pair = pair_at(t);
            uint arc = first_arc_of(of_lane, pair.x) + ancestor_count + pair.y;
            front[base + t] = WEIGHT(2 * arc);
            front[base + pairs + t] = WEIGHT(2 * arc + 1);
        }
        barrier();
        process_pairs_first();
        for (uint part = 0; part < parts; ++part) {
            first_column = min(part * width, ancestor_count);
            count = min(width, ancestor_count - first_column);
            uint entries = size * count;
            for (uint i = lane; i < entries; i += lanes) {
                uint arc = arc_to(i / count, i % count);
                front[columns + i] = WEIGHT(2 * arc);
                front[columns + entries + i] = WEIGHT(2 * arc + 1);
            }
            barrier();
            process_columns();
            for (uint i = lane; i < entries; i += lanes) {
                uint arc = arc_to(i / count, i % count);
                WEIGHT(2 * arc) = front[columns + i];
                WEIGHT(2 * arc + 1) = front[columns + entries + i];
            }
            barrier();
        }
        process_pairs_last();
        for (uint t = lane; t < pairs; t += lanes) {
            uvec2 pair = pair_at(t);
            uint arc = first_arc_of(of_lane, pair.x) + ancestor_count + pair.y;
            WEIGHT(2 * arc) = front[base + t];
            WEIGHT(2 * arc + 1) = front[base + pairs + t];
        }
        barrier();
    }
    check_loops();
}
