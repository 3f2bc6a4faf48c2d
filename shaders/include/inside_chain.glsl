// Triangles inside supernodes, whose upper two nodes include a node of the supernode itself. All nodes of a supernode
// have their turns one after the other. Either a workgroup takes whole supernodes, with a barrier after each turn, or
// many workgroups take one turn of some supernodes.
#include "supernode_pairs.glsl"

layout(push_constant) uniform Push {
    uint begin;  // in the list
    uint end;
    uint lanes;  // invocations of a supernode, a power of two; of a workgroup, if it takes all turns
    uint first_turn;  // of each supernode
    uint last_turn;
};

// Process a triangle, given by the words of three upward arcs: from the node to the lower one of the others, from the
// node to the higher one, and between the two.
void process_triangle(uint to_low, uint to_high, uint between);

void process_turn(Supernode s, uint place, uint lane) {
    uint row = first_arc_of(s, place), done = pairs_of(s.num_ancestors), pairs = pairs_of(s.num_ancestors + place);
    for (uint t = done + lane; t < pairs; t += lanes) {
        uvec2 pair = pair_at(t);
        uint between = first_arc_of(s, pair.x - s.num_ancestors) + pair.y;
        process_triangle(2 * (row + pair.x), 2 * (row + pair.y), 2 * between);
    }
}

// Process the turns of supernodes; `ascends` says whether the highest node of each comes first.
void enumerate_turns(bool ascends) {
    uint each = WORKGROUP_SIZE / lanes, lane = gl_GlobalInvocationID.x % lanes;
    if (each == 0) {
        uint stride = gl_NumWorkGroups.x * WORKGROUP_SIZE / lanes;
        for (uint g = begin + gl_GlobalInvocationID.x / lanes; g < end; g += stride) {
            Supernode s = SUPERNODE(ORDER(g));
            if (first_turn < s.size) process_turn(s, ascends ? first_turn : s.size - first_turn, lane);
        }
    } else {
        for (uint base = begin + gl_WorkGroupID.x * each; base < end; base += gl_NumWorkGroups.x * each) {
            uint g = base + gl_LocalInvocationIndex / lanes;
            Supernode s = SUPERNODE(ORDER(min(g, end - 1)));
            for (uint turn = first_turn; turn <= last_turn; ++turn) {
                if (g < end && turn < s.size) process_turn(s, ascends ? turn : s.size - turn, lane);
                memoryBarrierBuffer();
                barrier();
            }
        }
    }
    check_loops();
}
