// Between basic and perfect customization: lowers the arcs between the nodes of each supernode to the shortest paths
// over nodes of the supernode and nodes below, the highest node first. Supernodes do not wait for each other.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "supernode_pairs.glsl"
#include "supernode_fronts.glsl"

// Lower a weight in shared memory, which others may write to, too.
void lower_shared(uint word, uint one, uint other) {
    uint least = front[word], sum = lighter(least, front[one], front[other]);
    if (sum < least) atomicMin(front[word], sum);
}

void process_turns() {
    for (uint turn = 0; turn < turns; ++turn) {
        uint low = turn + 1;
        if (low < of_lane.size) {
            uint row = row_of(low);
            uint width = min(lanes, lanes < 256 ? 8 : 32);
            for (uint x = lane / width; x < low; x += lanes / width) {
                for (uint y = lane % width; y < x; y += width) {
                    uint to_low = row + x, to_high = row + y, up = row_of(x) + y, down = up + pairs;
                    lower_shared(to_high, to_low, up);
                    lower_shared(to_high + pairs, down, to_low + pairs);
                    lower_shared(to_low, to_high, down);
                    lower_shared(to_low + pairs, up, to_high + pairs);
                }
            }
        }
        barrier();
    }
}

void main() {
    enumerate_fronts();
}
