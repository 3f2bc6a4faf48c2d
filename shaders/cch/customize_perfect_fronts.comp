// Perfect customization inside supernodes in shared memory; see customize_perfect_outside.comp. The highest node comes
// first. A shortest path between a node and an ancestor of the supernode begins with an arc of the node, and then has the
// weight of an arc that is perfect already; so has one between two nodes, over an ancestor or over another node.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "supernode_pairs.glsl"
#include "supernode_fronts.glsl"

// Lower a weight in shared memory, which others may write to, too.
void lower_shared(uint word, uint one, uint other) {
    uint first = front[one], second = front[other];
    if (first == UNREACHABLE || second == UNREACHABLE) return;
    uint sum = extend(first, second);
    if (sum == UNREACHABLE) atomicMax(status.overflow, 1);
    else if (sum < front[word]) atomicMin(front[word], sum);
}

void process_pairs_first() {
}

void process_columns() {
    uint size = of_lane.size, down = size * count;
    for (uint high = 0; high < turns; ++high) {
        if (high + 1 < size) {
            uvec2 entry = own_entry;
            for (uint i = lane; i < (size - 1 - high) * count; i += lanes) {
                uint place = high + 1 + entry.x;
                uint word = word_of(place, entry.y), of_high = word_of(high, entry.y), arc = row_of(place) + high;
                lower(word, arc, of_high);
                lower(word + down, of_high + down, arc + pairs);
                advance(entry);
            }
        }
        barrier();
    }
    for (uint t = lane; t < pairs; t += lanes) {
        uvec2 pair = pair_of_lane(t);
        for (uint column = 0; column < count; ++column) {
            uint of_low = word_of(pair.x, column), of_high = word_of(pair.y, column);
            lower(base + t, of_low, of_high + down);
            lower(base + pairs + t, of_high, of_low + down);
        }
    }
}

void process_pairs_last() {
    for (uint turn = 0; turn < turns; ++turn) {
        uint low = turn + 1;
        if (low < of_lane.size) {
            uint row = row_of(low);
            for (uint t = lane; t < pairs_of(low); t += lanes) {
                uvec2 pair = pair_of_lane(t);
                uint to_low = row + pair.x, to_high = row + pair.y, up = base + t, down = up + pairs;
                lower_shared(to_high, to_low, up);
                lower_shared(to_high + pairs, down, to_low + pairs);
                lower_shared(to_low, to_high, down);
                lower_shared(to_low + pairs, up, to_high + pairs);
            }
        }
        barrier();
    }
}

void main() {
    enumerate_fronts();
}
