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
    front[word] = lighter(front[word], one, other);
}

// Let a node have its turn, as far as pairs of other nodes are concerned. Invocations form rows for the lower nodes, so
// that they find their pairs without roots and divisions.
void process_pairs(uint row, uint low) {
    uint width = min(lanes, lanes < 256 ? 8 : 32);
    for (uint x = lane / width; x < low; x += lanes / width) {
        uint from = front[row + pairs + x], to = front[row + x], first = row_of(x);
        for (uint y = lane % width; y < x; y += width) {
            lower(first + y, from, front[row + y]);
            lower(first + pairs + y, front[row + pairs + y], to);
        }
    }
}

// The same for the columns. Each invocation has few columns, so that it reads those of the node once.
void process_columns(uint row, uint low) {
    uint width = max(1, min(count, lanes)), rows = lanes / width, down = of_lane.size * count;
    if (lane >= rows * width) return;
    for (uint column = lane % width; column < count; column += width) {
        uint up_of_low = front[word_of(low, column)], down_of_low = front[word_of(low, column) + down];
        for (uint place = lane / width; place < low; place += rows) {
            uint word = word_of(place, column);
            lower(word, front[row + pairs + place], up_of_low);
            lower(word + down, down_of_low, front[row + place]);
        }
    }
}

void process_turns() {
    for (uint turn = 0; turn < turns; ++turn) {
        if (turn + 1 < of_lane.size) {
            uint low = of_lane.size - 1 - turn, row = row_of(low);
            if ((stages & PAIRS) != 0) process_pairs(row, low);
            if ((stages & COLUMNS) != 0) process_columns(row, low);
        }
        barrier();
    }
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
        low_up = known(low_up);
        low_down = known(low_down);
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
