// Pairs of ancestors of supernodes: group g of a dispatch takes the g-th supernode of a list, each lane of the group
// every LANES-th pair. The arc between the two is looked for once for all nodes of the supernode.
#include "supernode_pairs.glsl"

layout(push_constant) uniform Push {
    uint begin;  // in the list
    uint end;
    uint lanes;  // a power of two
};

// Process the triangles of all nodes of a supernode over a pair of ancestors: the i-th and the higher j-th. The word is
// that of the upward arc between the two.
void process_pair(Supernode s, uint i, uint j, uint between);

// Return the arc between two ancestors of a supernode, of which the higher one is the j-th.
uint arc_between(uint low, uint high, uint j) {
    Supernode s = supernodes[supernode_of[low]];
    uint row = first_arc_of(s, low - s.first_node);
    if (high >= s.first_node) return row + s.num_ancestors + high - s.first_node;
    // The list of the lower ancestor has all higher ones, and mostly few others.
    uint first = j, step = 1;
    while (first + step <= s.num_ancestors && ancestors[s.first_ancestor + first + step - 1] < high) {
        first += step;
        step *= 2;
    }
    uint last = min(first + step, s.num_ancestors) - 1;
    while (first < last) {
        uint middle = (first + last) / 2;
        if (ancestors[s.first_ancestor + middle] < high) first = middle + 1;
        else last = middle;
    }
    return row + first;
}

void enumerate_pairs() {
    uint stride = max(1, gl_NumWorkGroups.x * WORKGROUP_SIZE / lanes);
    for (uint g = begin + gl_GlobalInvocationID.x / lanes; g < end; g += stride) {
        Supernode s = supernodes[order[g]];
        uint pairs = pairs_of(s.num_ancestors);
        for (uint t = gl_GlobalInvocationID.x % lanes; t < pairs; t += lanes) {
            uvec2 pair = pair_at(t);
            uint low = ancestors[s.first_ancestor + pair.x], high = ancestors[s.first_ancestor + pair.y];
            process_pair(s, pair.x, pair.y, 2 * arc_between(low, high, pair.y));
        }
    }
    check_loops();
}
