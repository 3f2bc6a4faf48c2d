// Basic customization (J. Dibbelt, B. Strasser, D. Wagner, Customizable contraction hierarchies, 2014): afterwards no
// arc is heavier than a path through a node below both of its ends. Supernodes of lower levels come first. This kernel
// eliminates the nodes of supernodes, the lowest first, as far as arcs of these supernodes are concerned. The arcs
// between the nodes of a supernode need no others. With them each ancestor's column is independent of the other columns.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "supernode_pairs.glsl"
#include "supernode_fronts.glsl"

void process_pairs_first() {
    for (uint turn = 0; turn < turns; ++turn) {
        if (turn + 1 < of_lane.size) {
            uint low = of_lane.size - 1 - turn, row = row_of(low);
            for (uint t = lane; t < pairs_of(low); t += lanes) {
                uvec2 pair = pair_of_lane(t);
                lower(base + t, row + pairs + pair.x, row + pair.y);
                lower(base + pairs + t, row + pairs + pair.y, row + pair.x);
            }
        }
        barrier();
    }
}

void process_columns() {
    uint down = of_lane.size * count;
    for (uint turn = 0; turn < turns; ++turn) {
        if (turn + 1 < of_lane.size) {
            uint low = of_lane.size - 1 - turn, row = row_of(low);
            uvec2 entry = own_entry;
            for (uint i = lane; i < low * count; i += lanes) {
                uint word = columns + i, of_low = word_of(low, entry.y);
                lower(word, row + pairs + entry.x, of_low);
                lower(word + down, of_low + down, row + entry.x);
                advance(entry);
            }
        }
        barrier();
    }
}

void process_pairs_last() {
}

void main() {
    enumerate_fronts();
}
