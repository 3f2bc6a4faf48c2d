// Virtual warps (Hong, Kim, Oguntebi, Olukotun, "Accelerating CUDA Graph Algorithms at Maximum Warp", 2011). LANES
// invocations take a chunk of CHUNK nodes and relax the arcs of one node after the other side by side. A node with many
// arcs thus keeps no invocation waiting for another, and reads of arcs are coalesced. The whole workgroup first reads
// the data of its nodes into shared memory. A virtual warp may be any part of a workgroup, smaller or larger than a
// subgroup. Needs what thread_per_node.glsl needs.

layout(constant_id = 2) const uint LANES = 32;
layout(constant_id = 3) const uint CHUNK = 8;
const uint BLOCK = WORKGROUP_SIZE / LANES * CHUNK;  // nodes that a workgroup takes at once

shared uint block_first[BLOCK + 1];
shared uint block_distance[BLOCK];

uint working_distance(uint node);

void for_every_node(uint num_nodes) {
    uint lid = gl_LocalInvocationIndex, lane = lid % LANES, chunk = lid / LANES * CHUNK;
    for (uint start = gl_WorkGroupID.x * BLOCK; start < num_nodes; start += gl_NumWorkGroups.x * BLOCK) {
        uint count = min(BLOCK, num_nodes - start);
        for (uint i = lid; i < count; i += WORKGROUP_SIZE) {
            if (COUNTING > 0) ++visited;
            block_first[i] = first_out[start + i];
            block_distance[i] = working_distance(start + i);
        }
        if (lid == 0) block_first[count] = first_out[start + count];
        barrier();
        for (uint i = chunk; i < min(chunk + CHUNK, count); ++i) {
            uint distance = block_distance[i];
            if (distance == UNREACHABLE) continue;
            if (COUNTING > 0 && lane == 0) ++worked;
            relax_row(distance, block_first[i] + lane, block_first[i + 1], LANES);
        }
        barrier();
    }
}
