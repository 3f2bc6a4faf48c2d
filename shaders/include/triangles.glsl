// Enumeration of triangles for customization: a node and two of its ancestors. Group g of a dispatch takes the g-th
// node of a list; each lane of the group takes every LANES-th pair of that node's ancestors. Needs hierarchy.glsl.

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(std430, binding = 3) coherent buffer Weights { uint weight[]; };  // of each arc: up, down
layout(std430, binding = 4) readonly restrict buffer Ancestors { uint ancestors[]; };
layout(std430, binding = 5) readonly restrict buffer Order { uint order[]; };

layout(push_constant) uniform Push {
    uint begin;  // in the list
    uint end;
    uint lanes;  // a power of two
};

// Process a triangle, given by the words of three upward arcs: from the node to the lower ancestor, from the node to
// the higher one, and between the ancestors. The next word is that of the downward arc.
void process_triangle(uint to_low, uint to_high, uint between);

// Return the place of an ancestor in a list that contains it.
uint place_of(Supernode s, uint rank) {
    uint low = 0, high = s.num_ancestors;
    while (low + 1 < high) {
        uint middle = (low + high) / 2;
        if (ancestors[s.first_ancestor + middle] <= rank) low = middle;
        else high = middle;
    }
    return low;
}

// Enumerate the triangles of each node; `inside` says whether the nodes of its own supernode count as ancestors.
void enumerate_triangles(bool inside) {
    uint stride = gl_NumWorkGroups.x * WORKGROUP_SIZE / lanes;
    for (uint g = begin + gl_GlobalInvocationID.x / lanes; g < end; g += stride) {
        uint rank = order[g];
        Supernode s = supernodes[supernode_of[rank]];
        uint place = rank - s.first_node, length = s.num_ancestors + (inside ? place : 0);
        uint arcs = first_arc_of(s, place), pairs = length * (length - 1) / 2;
        for (uint t = gl_GlobalInvocationID.x % lanes; t < pairs; t += lanes) {
            // The t-th of (1, 0), (2, 0), (2, 1), (3, 0), ...; square roots of floats may be one off.
            uint i = uint((1.0 + sqrt(1.0 + 8.0 * float(t))) / 2.0);
            if (i * (i - 1) / 2 > t) --i;
            if (i * (i + 1) / 2 <= t) ++i;
            uint j = t - i * (i - 1) / 2, between;
            if (i >= s.num_ancestors) {
                between = first_arc_of(s, i - s.num_ancestors) + j;
            } else {
                uint low = ancestors[s.first_ancestor + i], high = ancestors[s.first_ancestor + j];
                Supernode other = supernodes[supernode_of[low]];
                between = first_arc_of(other, low - other.first_node);
                between += high >= other.first_node ? other.num_ancestors + high - other.first_node : place_of(other, high);
            }
            process_triangle(2 * (arcs + i), 2 * (arcs + j), 2 * between);
        }
    }
    check_loops();
}
