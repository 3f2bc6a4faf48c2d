// Perfect customization: afterwards the weight of an arc is that of the shortest path between its ends, also of a path
// through nodes above. Supernodes of upper levels come first, and customize_closure.comp before all of them. The shortest
// path from a node to an ancestor goes to a node of the same supernode, by an arc that is closed already, on to an
// ancestor, by an arc of basic customization, and on to the other ancestor, by an arc that is perfect already. So nothing
// in a supernode has to wait for something else in it. Several groups of invocations share the ancestors of a supernode.
// Without chunks, customize_perfect_outside.comp has lowered the arcs to ancestors over other ancestors before, and what is
// left is to go on from there to the other nodes.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "supernode_pairs.glsl"
#include "arc_between.glsl"
#ifdef LISTED
layout(std430, binding = 7) coherent buffer Marks { WORDS is_needless[]; };  // by arc
#endif

// Words of shared memory.
layout(constant_id = 1) const uint FRONT_WORDS = 4096;

layout(push_constant) uniform Push {
    uint begin;  // in the list
#ifdef LISTED
    uint level;
#else
    uint end;
#endif
    uint lanes;   // invocations for a part of the ancestors, a power of two
    uint words;   // words of shared memory of them
    uint width;   // ancestors of a part
    uint parts;   // the largest number of parts of the ancestors of a supernode
    uint chunks;  // the largest number of chunks of ancestors that others are reached over, or 0
};

shared uint front[FRONT_WORDS];

#include "saturated.glsl"

#ifdef LISTED
#define ITEMS(s) (s.num_ancestors + width - 1) / width
#define ITEMS_BEFORE front
#define AT_ONCE min(WORKGROUP_SIZE, FRONT_WORDS)
#include "listed_items.glsl"
#endif

void main() {
    uint each = WORKGROUP_SIZE / lanes, lane = gl_LocalInvocationIndex % lanes, last = (END - begin) * parts;
    for (uint start = gl_WorkGroupID.x * each; start < last; start += gl_NumWorkGroups.x * each) {
        uint item = start + gl_LocalInvocationIndex / lanes, which, part = item;
#ifdef LISTED
        uint listed_end = END;
        if (find_item(begin, listed_end, part, which) <= start) break;
        bool is_there = which < listed_end;
        which = min(which, listed_end - 1);
#else
        bool is_there = item < last;
        which = begin + min(item, last - 1) / parts;
        part = item % parts;
#endif
        Supernode s = SUPERNODE(ORDER(which));
        uint size = s.size, total = s.num_ancestors, first = min(part * width, total);
        uint own = is_there ? min(width, total - first) : 0;
        if (own == 0) size = 0;
        uint pairs = pairs_of(size), count = size * own;
        // Arcs between nodes, weights of arcs to the own ancestors, of arcs between these and those of a chunk, and of
        // arcs to the ancestors of a chunk: upward ones first, each time.
        uint inside = gl_LocalInvocationIndex / lanes * words, mine = inside + 2 * pairs, between = mine + 2 * count;
        uint chunk = own == 0 ? 0 : min(total, (words - 2 * pairs - 2 * count) / (2 * (size + own)));
        uint to_chunk = between + 2 * chunk * own;
        uint most = 0;
        if (gl_LocalInvocationIndex == 0) heaviest = 0;
        barrier();
        for (uint t = lane; t < pairs; t += lanes) {
            uvec2 pair = pair_at(t);
            uint arc = first_arc_of(s, pair.x) + total + pair.y;
            front[inside + t] = noted(WEIGHT(2 * arc), most);
            front[inside + pairs + t] = noted(WEIGHT(2 * arc + 1), most);
        }
        for (uint t = lane; t < count; t += lanes) {
            uint arc = first_arc_of(s, t / own) + first + t % own;
            front[mine + t] = noted(WEIGHT(2 * arc), most);
            front[mine + count + t] = noted(WEIGHT(2 * arc + 1), most);
#ifdef LISTED
            MUTABLE_WORD(is_needless, arc) = 0;  // until it is marked again
#endif
        }
        for (uint turn = 0; turn < chunks; ++turn) {
            uint begun = min(turn * chunk, total), here = min(chunk, total - begun);
            for (uint t = lane; t < here * own; t += lanes) {
                uint i = begun + t / own, j = first + t % own;
                uint from = UNREACHABLE, back = UNREACHABLE;
                if (i != j) {
                    uint low = max(i, j), high = min(i, j);
                    uint word = 2 * arc_between(WORD(ancestors, s.first_ancestor + low),
                                                WORD(ancestors, s.first_ancestor + high), high);
                    from = WEIGHT(word + (i == low ? 0 : 1));
                    back = WEIGHT(word + (i == low ? 1 : 0));
                }
                front[between + t] = noted(from, most);
                front[between + chunk * own + t] = noted(back, most);
            }
            for (uint t = lane; t < size * here; t += lanes) {
                uint place = t / here, arc = first_arc_of(s, place) + begun + t % here;
                front[to_chunk + t] = noted(WEIGHT(2 * arc), most);
                front[to_chunk + size * chunk + t] = noted(WEIGHT(2 * arc + 1), most);
            }
            atomicMax(heaviest, most);
            barrier();
            // Results are sums of three weights at most, two of which are added.
            are_small = heaviest < FAR / 8;
            for (uint t = lane; t < count; t += lanes) {
                uint row = to_chunk + t / own * here, column = between + t % own;
                uint up = front[mine + t], down = front[mine + count + t];
                for (uint i = 0; i < here; ++i) {
                    up = lighter(up, front[row + i], front[column + i * own]);
                    down = lighter(down, front[row + size * chunk + i], front[column + (chunk + i) * own]);
                }
                front[mine + t] = known(up);
                front[mine + count + t] = known(down);
            }
            barrier();
        }
        if (chunks == 0) {
            atomicMax(heaviest, most);
            barrier();
            are_small = heaviest < FAR / 8;
        }
        // The results lie where the arcs to the ancestors of a chunk were, or in place: other invocations may read them
        // before and after, since both are the lengths of paths.
        if (chunks == 0) to_chunk = mine;
        for (uint t = lane; t < count; t += lanes) {
            uint place = t / own, column = mine + t % own;
            uint up = front[mine + t], down = front[mine + count + t];
            for (uint other = 0; other < size; ++other) {
                if (other == place) continue;
                bool is_lower = place > other;
                uint arc = inside + pairs_of(max(place, other)) + min(place, other);
                up = lighter(up, front[arc + (is_lower ? 0 : pairs)], front[column + other * own]);
                down = lighter(down, front[arc + (is_lower ? pairs : 0)], front[column + count + other * own]);
            }
            up = known(up);
            down = known(down);
            front[to_chunk + t] = up;
            front[to_chunk + count + t] = down;
            uint word = 2 * (first_arc_of(s, place) + first + t % own);
            // The same is true of other workgroups.
            if (up < WEIGHT(word)) atomicMin(WEIGHT(word), up);
            if (down < WEIGHT(word + 1)) atomicMin(WEIGHT(word + 1), down);
        }
        barrier();
        for (uint t = lane; t < pairs; t += lanes) {
            uvec2 pair = pair_at(t);
            uint low = to_chunk + pair.x * own, high = to_chunk + pair.y * own;
            uint old_up = front[inside + t], old_down = front[inside + pairs + t], up = old_up, down = old_down;
            for (uint i = 0; i < own; ++i) {
                up = lighter(up, front[low + i], front[high + count + i]);
                down = lighter(down, front[high + i], front[low + count + i]);
            }
            uint word = 2 * (first_arc_of(s, pair.x) + total + pair.y);
            if (known(up) < old_up) atomicMin(WEIGHT(word), up);
            if (known(down) < old_down) atomicMin(WEIGHT(word + 1), down);
        }
        barrier();
    }
    if (did_not_fit) atomicMax(status.overflow, 1);
    check_loops();
}
