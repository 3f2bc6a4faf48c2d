// Arcs that fit the distances of upward searches, as phast_fit.comp finds them for phast_mark.comp. Needs
// unpack_arcs.glsl, and `most`.

layout(constant_id = 1) const uint HEIGHT = 128;
// by pair, side and depth: rank, distance, nodes of its supernode on the path to the root
layout(std430, binding = 7) readonly restrict buffer UpwardLabels { uvec4 labels[]; };
#include "shared_ends.glsl"

// Return where the labels of the searches from the source and from the target of one of the pairs are.
uvec2 first_labels_of(uint pair) {
    uint first = HEADER.first_pair, num_targets = HEADER.num_targets, number = pair - first;
    uint one = FIRST_WITH_SEED(first, number, num_targets), other = FIRST_WITH_TARGET(first, number, num_targets);
    return uvec2(2 * one * HEIGHT, (2 * other + 1) * HEIGHT);
}

// Two vectors for each, at the end of the room for nodes, of which the seeds take some: those that put_arc stores, but
// with further numbers in the last word: 1 if the arc leads to the target, the depth of the lower end, the number of the
// pair among those of the path.
#define FITTING(place) LIST(most - 1 - (place))
#define MOST_FITTING ((most - min(most, HEADER.num_jobs)) / 2)

uint packed(uint side, uint depth, uint number) { return side | depth << 1 | number << 22; }
uint side_of(uint bits) { return bits & 1; }
uint depth_in(uint bits) { return bits >> 1 & 0x1FFFFF; }
uint number_in(uint bits) { return bits >> 22; }

uint depth_of(uint rank) {
    Supernode s = SUPERNODE(supernode_of[rank]);
    return s.depth + rank - s.first_node;
}
