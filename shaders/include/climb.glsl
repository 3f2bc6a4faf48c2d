// A search up the hierarchy, by one workgroup: from a node to all nodes on the way to the top, from supernode to
// supernode. In each of them, as in a clique with perfect weights, one step from any node to any other is enough, and so
// distances come out right but for ways through the ancestors, which the sweep down adds. Needs hierarchy.glsl and
// WORKGROUP_SIZE.

layout(constant_id = 1) const uint HEIGHT = 128;  // nodes on the way from the lowest node to the top
layout(std430, binding = 3) readonly restrict buffer Weights { uint weight[]; };  // of each arc: up, down
layout(std430, binding = 4) readonly restrict buffer Depths { uint ancestor_depth[]; };  // of each supernode's ancestors

shared uint found[HEIGHT];  // distances of nodes on the way, by their depth
shared uint begun[HEIGHT];  // the same of a supernode's nodes, before the step inside it
bool sum_overflow = false;
uint relaxed = 0, improved = 0;  // arcs of this invocation

// What is to be done with the distance of a node, which is in found[depth]; one invocation for each node on the way, and
// for each other node in a supernode there. `count` nodes of that are on the way, `before` were in those below.
void arrive(Supernode s, uint place, uint count, uint before);

void extend_to(uint depth, uint from, uint arc) {
    if (from == UNREACHABLE || arc == UNREACHABLE) return;
    uint sum = extend(from, arc);
    sum_overflow = sum_overflow || sum == UNREACHABLE;
    ++relaxed;
    if (sum < atomicMin(found[depth], sum)) ++improved;
}

// All invocations of a workgroup come here with the same arguments. `backward` finds distances to the node instead.
void climb(uint position, uint offset, bool backward) {
    uint lid = gl_LocalInvocationIndex, with = backward ? 1 : 0, against = 1 - with;
    Supernode s = supernodes[supernode_of[position]];
    uint count = position - s.first_node + 1, before = 0;  // nodes of the supernode on the way
    barrier();
    for (uint i = lid; i < s.depth + count; i += WORKGROUP_SIZE) {
        found[i] = i + 1 == s.depth + count ? offset : UNREACHABLE;
    }
    barrier();
    while (true) {
        for (uint i = lid; i < s.size; i += WORKGROUP_SIZE) {
            begun[i] = i < count ? found[s.depth + i] : UNREACHABLE;
            if (i >= count) found[s.depth + i] = UNREACHABLE;
        }
        barrier();
        if (s.size > 1) {
            for (uint t = lid; t < count * s.size; t += WORKGROUP_SIZE) {
                uint j = t / s.size, i = t % s.size;  // from j to i
                if (i == j || begun[j] == UNREACHABLE) continue;
                uint arc = first_arc_of(s, max(i, j)) + s.num_ancestors + min(i, j);
                extend_to(s.depth + i, begun[j], weight[2 * arc + (j < i ? against : with)]);
            }
            barrier();
        }
        for (uint i = lid; i < s.size; i += WORKGROUP_SIZE) arrive(s, i, count, before);
        if (s.num_ancestors == 0) break;
        uint parent = s.parent, next_count = s.parent_place + 1;
        before += s.size;
        for (uint t = lid; t < count * s.num_ancestors; t += WORKGROUP_SIZE) {
            uint i = t / s.num_ancestors, k = t % s.num_ancestors;
            uint from = found[s.depth + i];
            if (from == UNREACHABLE) continue;
            extend_to(ancestor_depth[s.first_ancestor + k], from, weight[2 * (first_arc_of(s, i) + k) + with]);
        }
        s = supernodes[parent];
        count = next_count;
        barrier();
    }
    barrier();
}
