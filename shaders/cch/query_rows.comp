// Labels of the nodes of a query alone: for each of them its distances to all of its ancestors, or from them, with a
// workgroup for each tile of consecutive rows. Rows are sorted in preorder, so that neighbours share the upper parts of
// their paths to the root. The rows of a tile go up level by level; those in the same supernode use its weights together.
//
// Weights are perfect: that of an arc from a node of a supernode is a distance itself, no more than any path over other
// nodes of the supernode. So all arcs upward from a supernode's nodes, those inside it too, start from the distances
// that the supernodes below have left, and need not wait for each other.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 256;
layout(constant_id = 1) const uint ROWS = 16;   // of a tile, a power of two, at most WORKGROUP_SIZE
layout(constant_id = 2) const uint ROOM = 512;  // quadruples of distances in shared memory, ROWS at least
#include "weights.glsl"
// of each supernode's ancestors
layout(std430, binding = 4) readonly restrict buffer Depths { WORDS ancestor_depth[]; };
layout(std430, binding = 5) readonly restrict buffer Seeds { uvec2 seeds[]; };  // of each row: rank, offset
layout(std430, binding = 6) coherent restrict buffer Labels { uint labels[]; };  // unreachable at first
// Of each tile: the largest finite distance, the heaviest finite weight. Sums of these that fit tell that all sums do.
layout(std430, binding = 7) writeonly restrict buffer Extremes { uvec2 extremes[]; };

layout(push_constant) uniform Push {
    uint num_rows;
    uint stride;      // words of a row
    uint is_forward;  // whether distances lead to ancestors, not from them
};

// Of each row of the tile at a level: its supernode, and the number of its nodes on the path, 0 for a row that begins
// farther up.
shared Supernode of_row[ROWS];
shared uint on_path[ROWS];
// Runs of rows in the same supernode are divided into groups of four rows or fewer: first row, and number of rows.
shared uvec2 groups[ROWS];
// Of each run: first row, first group, number of groups, first item. An item is a group and four columns.
shared uvec4 runs[ROWS];
shared uint num_groups, num_runs, num_items, most_nodes, first_level, are_together;
// Distances that some nodes of each row's supernode begin with, by node and group.
shared uvec4 begun[ROOM];
shared uint farthest_here, heaviest_here;
uint farthest = 0, heaviest = 0, first_row;

// Return the number of quarters of the columns of a supernode: its ancestors, and all of its nodes but the last.
uint quarter_of(Supernode s) { return (s.num_ancestors + s.size + 2) / 4; }

// Divide the rows into runs and groups. A single invocation calls this.
void divide_rows() {
    uint last = NO_INDEX, in_run = 0, items = 0, num_rows_here = 0;
    num_groups = num_runs = most_nodes = 0;
    for (uint row = 0; row < ROWS; ++row) {
        if (on_path[row] == 0) continue;
        ++num_rows_here;
        uint first_node = of_row[row].first_node;
        if (first_node != last) {
            runs[num_runs++] = uvec4(row, num_groups, 0, 0);
            last = first_node;
            in_run = 0;
        }
        if (in_run++ % 4 == 0) {
            groups[num_groups++] = uvec2(row, 0);
            ++runs[num_runs - 1].z;
        }
        ++groups[num_groups - 1].y;
        most_nodes = max(most_nodes, on_path[row]);
    }
    for (uint run = 0; run < num_runs; ++run) {
        runs[run].w = items;
        items += runs[run].z * quarter_of(of_row[runs[run].x]);
    }
    num_items = items;
    are_together = num_runs == 1 && num_rows_here == min(ROWS, num_rows - first_row) ? 1 : 0;
}

// Prepare the next level of rows that are all in the same supernode. A single invocation calls this.
void move_up() {
    num_items = runs[0].z * quarter_of(of_row[0]);
    most_nodes = on_path[0];
}

// Return the distance that a node of a row's supernode begins with.
uint begun_by(uvec2 group, uint number, uint place) {
    if (number >= group.y) return UNREACHABLE;
    uint row = group.x + number;
    return place < on_path[row] ? labels[(first_row + row) * stride + of_row[row].depth + place] : UNREACHABLE;
}

// Return the weights of arcs of a node to some columns; those of arcs that it has not are unreachable. All are read,
// so that no read waits for a branch. The node has an arc.
uvec4 weights_of(uint first_arc, uvec4 columns, uint num_arcs) {
    uvec4 at = 2 * (first_arc + min(columns, uvec4(num_arcs - 1))) + (1 - is_forward);
    uvec4 found = uvec4(WEIGHT(at.x), WEIGHT(at.y), WEIGHT(at.z), WEIGHT(at.w));
    return mix(found, uvec4(UNREACHABLE), greaterThanEqual(columns, uvec4(num_arcs)));
}

void look_at(uvec4 weights) {
    weights = mix(weights, uvec4(0), equal(weights, uvec4(UNREACHABLE)));
    heaviest = max(heaviest, max(max(weights.x, weights.y), max(weights.z, weights.w)));
}

// Return the least of some distances and of some sums; those that do not fit are unreachable.
uvec4 improved(uvec4 least, uvec4 from, uint arc) { return min(least, min(from, uvec4(~arc)) + arc); }

void put(uint at, uint distance, uint old) {
    if (distance < old) {
        farthest = max(farthest, distance);
        labels[at] = distance;
    }
}

// Return the depth of a column of a supernode, or of any if there is no such column.
uint depth_of(Supernode s, uint column) {
    if (column < s.num_ancestors) return WORD(ancestor_depth, s.first_ancestor + column);
    return s.depth + min(column - s.num_ancestors, s.size - 1);
}

uint old_label(uint at, uint distance) { return distance == UNREACHABLE ? 0 : labels[at]; }

// Return the labels of four rows at a depth where distances have been found, and others that need not be improved.
uvec4 old_labels(uint base, uint depth, uvec4 found) {
    uint at = base + depth;
    return uvec4(
        old_label(at, found.x), old_label(at + stride, found.y), old_label(at + 2 * stride, found.z),
        old_label(at + 3 * stride, found.w)
    );
}

// Extend the distances of an item's rows from the nodes at the places from `begin` to before `end`.
void extend_item(uint item, uint begin, uint end) {
    uint run = 0;
    for (uint step = ROWS; step > 0; step /= 2) {
        if (run + step < num_runs && runs[run + step].w <= item) run += step;
    }
    uvec4 here = runs[run];
    Supernode s = of_row[here.x];
    uint within = item - here.w, group = here.y + within % here.z, quarter = quarter_of(s);
    uvec4 columns = within / here.z + quarter * uvec4(0, 1, 2, 3);
    uvec4 to_first = uvec4(UNREACHABLE), to_second = to_first, to_third = to_first, to_fourth = to_first;
    uint place = s.num_ancestors == 0 ? max(begin, 1) : begin;  // the root has no arcs
    end = min(end, s.size);
    uint arc = first_arc_of(s, place);
    for (; place < end; place += 2) {
        uint count = s.num_ancestors + place, next = arc + count;
        bool has_next = place + 1 < end;
        uvec4 one = weights_of(arc, columns, count), other = weights_of(has_next ? next : arc, columns, has_next ? count + 1 : count);
        uint at = (place - begin) * num_groups + group;
        uvec4 from_one = begun[at], from_other = begun[has_next ? at + num_groups : at];
        look_at(one);
        look_at(other);
        to_first = improved(improved(to_first, from_one, one.x), from_other, other.x);
        to_second = improved(improved(to_second, from_one, one.y), from_other, other.y);
        to_third = improved(improved(to_third, from_one, one.z), from_other, other.z);
        to_fourth = improved(improved(to_fourth, from_one, one.w), from_other, other.w);
        arc = next + count + 1;
    }
    // Old labels are read before any is written, so that the reads do not wait for each other.
    uvec4 depths = uvec4(depth_of(s, columns.x), depth_of(s, columns.y), depth_of(s, columns.z), depth_of(s, columns.w));
    uvec2 rows = groups[group];
    uint base = (first_row + rows.x) * stride;
    uvec4 found[4] = {to_first, to_second, to_third, to_fourth}, old[4];
    for (uint k = 0; k < 4; ++k) old[k] = old_labels(base, depths[k], found[k]);
    for (uint k = 0; k < 4; ++k) {
        for (uint row = 0; row < 4; ++row) put(base + row * stride + depths[k], found[k][row], old[k][row]);
    }
}

void main() {
    uint lid = gl_LocalInvocationIndex;
    first_row = gl_WorkGroupID.x * ROWS;
    if (lid == 0) first_level = are_together = farthest_here = heaviest_here = 0;
    barrier();
    bool is_row = lid < ROWS && first_row + lid < num_rows;
    uint count = 0;  // nodes on the path in the supernode of this invocation's row
    if (is_row) {
        uvec2 seed = seeds[first_row + lid];
        Supernode s = SUPERNODE(supernode_of[seed.x]);
        count = seed.x - s.first_node + 1;
        labels[(first_row + lid) * stride + s.depth + count - 1] = seed.y;
        farthest = seed.y;
        of_row[lid] = s;
        atomicMax(first_level, s.level + 1);
    }
    memoryBarrierBuffer();
    barrier();
    for (uint level = first_level; level > 0; --level) {
        bool is_here = is_row && of_row[lid].level + 1 == level;
        Supernode parent;  // read before it is needed
        if (is_here && level > 1) parent = SUPERNODE(of_row[lid].parent);
        if (lid < ROWS) on_path[lid] = is_here ? count : 0;
        barrier();
        // Rows that have met stay together.
        if (lid == 0) {
            if (are_together == 0) divide_rows();
            else move_up();
        }
        barrier();
        uint each = min(ROOM / num_groups, most_nodes);
        for (uint begin = 0; begin < most_nodes; begin += each) {
            for (uint t = lid; t < num_groups * each; t += WORKGROUP_SIZE) {
                uint number = t / each, place = begin + t % each;
                uvec2 group = groups[number];
                begun[t % each * num_groups + number] = uvec4(
                    begun_by(group, 0, place), begun_by(group, 1, place), begun_by(group, 2, place), begun_by(group, 3, place)
                );
            }
            barrier();
            for (uint item = lid; item < num_items; item += WORKGROUP_SIZE) extend_item(item, begin, begin + each);
            memoryBarrierBuffer();
            barrier();
        }
        if (is_here && level > 1) {
            count = of_row[lid].parent_place + 1;
            of_row[lid] = parent;
        }
    }
    atomicMax(farthest_here, farthest);
    atomicMax(heaviest_here, heaviest);
    barrier();
    if (lid == 0) extremes[gl_WorkGroupID.x] = uvec2(farthest_here, heaviest_here);
    check_loops();
}
