// Distribution of arcs with an invocation for each node, which relaxes all arcs of its node, whatever their number.
// Needs relax.glsl, `first_out`, and a function `working_distance(node)`, which returns UNREACHABLE for a node without
// work.

uint working_distance(uint node);

void for_every_node(uint num_nodes) {
    for (uint node = gl_GlobalInvocationID.x; node < num_nodes; node += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        if (COUNTING > 0) ++visited;
        uint distance = working_distance(node);
        if (distance == UNREACHABLE) continue;
        if (COUNTING > 0) ++worked;
        relax_row(distance, first_out[node], first_out[node + 1], 1);
    }
}
