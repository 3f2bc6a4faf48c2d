// Basic customization (J. Dibbelt, B. Strasser, D. Wagner, Customizable contraction hierarchies, 2014): afterwards no
// arc is heavier than a path through a node below both of its ends. Supernodes of lower levels come first. This kernel
// eliminates the nodes of supernodes, the lowest first, as far as arcs of these supernodes are concerned. The arcs
// between the nodes of a supernode need no others. With them each ancestor's column is independent of the other columns.
// Where all columns are in shared memory, the kernel also does what customize_basic_outside.comp does.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "supernode_pairs.glsl"
#include "arc_between.glsl"
#define WITH_OUTSIDE
#include "supernode_fronts.glsl"

// Lower a weight in shared memory, which no other invocation writes to, to the sum of two others.
void lower(uint word, uint one, uint other) {
    uint first = front[one], second = front[other];
    if (first == UNREACHABLE || second == UNREACHABLE) return;
    uint sum = extend(first, second);
    if (sum == UNREACHABLE) atomicMax(status.overflow, 1);
    else if (sum < front[word]) front[word] = sum;
}

void process_turns() {
    uint down = of_lane.size * count;
    for (uint turn = 0; turn < turns; ++turn) {
        if (turn + 1 < of_lane.size) {
            uint low = of_lane.size - 1 - turn, row = row_of(low);
            if ((stages & PAIRS) != 0) {
                for (uint t = lane; t < pairs_of(low); t += lanes) {
                    uvec2 pair = pair_of_lane(t);
                    lower(base + t, row + pairs + pair.x, row + pair.y);
                    lower(base + pairs + t, row + pairs + pair.y, row + pair.x);
                }
            }
            if ((stages & COLUMNS) != 0) {
                uvec2 entry = own_entry;
                for (uint i = lane; i < low * count; i += lanes) {
                    uint word = columns + i, of_low = word_of(low, entry.y);
                    lower(word, row + pairs + entry.x, of_low);
                    lower(word + down, of_low + down, row + entry.x);
                    advance(entry);
                }
            }
        }
        barrier();
    }
}

uint lighter(uint least, uint one, uint other) {
    if (one == UNREACHABLE || other == UNREACHABLE) return least;
    uint sum = extend(one, other);
    if (sum == UNREACHABLE) atomicMax(status.overflow, 1);
    return min(least, sum);
}

void process_outside() {
    uint end_of_pairs = of_lane.size == 0 ? 0 : pairs_of(count), down = of_lane.size * count;
    for (uint t = part * lanes + lane; t < end_of_pairs; t += parts * lanes) {
        uvec2 pair = pair_at(t);
        uint low_up = UNREACHABLE, low_down = UNREACHABLE;
        for (uint place = 0; place < of_lane.size; ++place) {
            uint to_low = word_of(place, pair.x), to_high = word_of(place, pair.y);
            low_up = lighter(low_up, front[to_low + down], front[to_high]);
            low_down = lighter(low_down, front[to_high + down], front[to_low]);
        }
        if (low_up == UNREACHABLE && low_down == UNREACHABLE) continue;
        uint low = WORD(ancestors, of_lane.first_ancestor + pair.x), high = WORD(ancestors, of_lane.first_ancestor + pair.y);
        uint between = 2 * arc_between(low, high, pair.y);
        lower_weight(between, low_up);
        lower_weight(between + 1, low_down);
    }
}

void main() {
    enumerate_fronts();
}
