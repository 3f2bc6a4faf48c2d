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
    uint first = front[one], second = front[other];
    if (first == UNREACHABLE || second == UNREACHABLE) return;
    uint sum = extend(first, second);
    if (sum == UNREACHABLE) atomicMax(status.overflow, 1);
    else if (sum < front[word]) atomicMin(front[word], sum);
}

void process_turns() {
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
