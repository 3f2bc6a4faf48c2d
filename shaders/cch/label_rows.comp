// Labels of the nodes of one level, whose ancestors have theirs, with a workgroup for each node: a row has the least
// sums of the weight of an arc to an ancestor and of the ancestor's label. Weights are perfect, so that arcs inside the
// supernode need not be followed, and nodes of a level do not wait for each other.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 64;
layout(constant_id = 3) const uint IS_SYMMETRIC = 0;  // whether both directions are the same
#include "weights.glsl"
layout(std430, binding = 4) readonly restrict buffer Ancestors { WORDS ancestors[]; };
// Of each rank: first unit of its row, number of entries and part.
layout(std430, binding = 5) readonly restrict buffer Rows { uvec2 rows[]; };
#define STATUS_WORDS uint farthest;  // largest finite distance of a label
#include "hierarchy.glsl"
#define LABEL uint
#define LABELS_BINDING 6
#include "label_rows.glsl"

layout(push_constant) uniform Push {
    uint begin;  // ranks of the level
    uint end;
};

shared uint farthest_here;
bool sum_overflow = false;

void improve(inout uint least, uint arc, uint label) {
    if (arc == UNREACHABLE || label == UNREACHABLE) return;
    uint sum = extend(arc, label);
    sum_overflow = sum_overflow || sum == UNREACHABLE;
    least = min(least, sum);
}

#define PUT(upward, downward)                       \
    {                                               \
        upward[at] = up;                            \
        if (IS_SYMMETRIC == 0) downward[at] = down; \
        return;                                     \
    }

void put(uvec2 row, uint depth, uint up, uint down) {
    uint at = UNIT * row.x + depth, part = part_of(row.y);
    if (NUM_PARTS == 1 || part == 0) PUT(upward0, downward0)
    if (NUM_PARTS == 2 || part == 1) PUT(upward1, downward1)
    if (NUM_PARTS == 3 || part == 2) PUT(upward2, downward2)
    if (NUM_PARTS == 4 || part == 3) PUT(upward3, downward3)
    if (NUM_PARTS == 5 || part == 4) PUT(upward4, downward4)
    if (NUM_PARTS == 6 || part == 5) PUT(upward5, downward5)
    if (NUM_PARTS == 7 || part == 6) PUT(upward6, downward6)
    PUT(upward7, downward7)
}

void main() {
    uint greatest = 0;
    if (gl_LocalInvocationIndex == 0) farthest_here = 0;
    barrier();
    for (uint rank = begin + gl_WorkGroupID.x; rank < end; rank += gl_NumWorkGroups.x) {
        Supernode s = SUPERNODE(supernode_of[rank]);
        uint place = rank - s.first_node, arc = first_arc_of(s, place);
        uvec2 row = rows[rank];
        uint count = count_of(row.y), padded = (count + UNIT - 1) / UNIT * UNIT;
        for (uint depth = gl_LocalInvocationIndex; depth < padded; depth += WORKGROUP_SIZE) {
            uint up = UNREACHABLE, down = UNREACHABLE;
            if (depth + 1 == count) {
                up = down = 0;
            } else if (depth >= s.depth && depth < count) {
                uint inside = 2 * (arc + s.num_ancestors + depth - s.depth);
                up = WEIGHT(inside);
                down = WEIGHT(inside + 1);
            } else if (depth < count) {
                // From the lowest ancestor up to the last one that lies below this depth, or at it.
                for (uint k = s.num_ancestors; k > 0; --k) {
                    uvec2 of = rows[WORD(ancestors, s.first_ancestor + k - 1)];
                    if (count_of(of.y) <= depth) break;
                    uint at = UNIT * of.x + depth, part = part_of(of.y), outside = 2 * (arc + k - 1);
                    improve(up, WEIGHT(outside), upward_at(part, at));
                    if (IS_SYMMETRIC == 0) improve(down, WEIGHT(outside + 1), downward_at(part, at));
                }
            }
            put(row, depth, up, down);
            if (up != UNREACHABLE) greatest = max(greatest, up);
            if (IS_SYMMETRIC == 0 && down != UNREACHABLE) greatest = max(greatest, down);
        }
    }
    if (greatest != 0) atomicMax(farthest_here, greatest);
    if (sum_overflow) atomicMax(status.overflow, 1);
    barrier();
    // Most workgroups know nothing farther than others do.
    if (gl_LocalInvocationIndex == 0 && farthest_here > status.farthest) atomicMax(status.farthest, farthest_here);
    check_loops();
}
