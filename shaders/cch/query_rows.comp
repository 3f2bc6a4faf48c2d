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
layout(constant_id = 1) const uint ROWS = 32;   // of a tile, a power of two, at most WORKGROUP_SIZE
layout(constant_id = 2) const uint ROOM = 512;  // quadruples of distances in shared memory, ROWS at least
layout(std430, binding = 3) readonly restrict buffer Weights { uint weight[]; };  // of each arc: up, down
// of each supernode's ancestors
layout(std430, binding = 4) readonly restrict buffer Depths { uint ancestor_depth[]; };
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
shared uint num_groups, num_runs, num_items, most_nodes, first_level;
// Distances that some nodes of each row's supernode begin with, by node and group.
shared uvec4 begun[ROOM];
shared uint farthest_here, heaviest_here;
uint farthest = 0, heaviest = 0, first_row;

// Return the number of quarters of the columns of a supernode: its ancestors, and all of its nodes but the last.
uint quarter_of(Supernode s) { return (s.num_ancestors + s.size + 2) / 4; }

// Divide the rows into runs and groups. A single invocation calls this.
void divide_rows() {
    uint last = NO_INDEX, in_run = 0, items = 0;
    num_groups = num_runs = most_nodes = 0;
    for (uint row = 0; row < ROWS; ++row) {
        if (on_path[row] == 0) continue;
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
}

// Return the distance that a node of a row's supernode begins with.
uint begun_by(uvec2 group, uint number, uint place) {
    if (number >= group.y) return UNREACHABLE;
    uint row = group.x + number;
    return place < on_path[row] ? labels[(first_row + row) * stride + of_row[row].depth + place] : UNREACHABLE;
}

// Return the weight of an arc of a node, if it has the arc.
uint weight_of(uint first_arc, uint column, uint num_arcs) {
    if (column >= num_arcs) return UNREACHABLE;
    uint found = weight[2 * (first_arc + column) + (1 - is_forward)];
    if (found != UNREACHABLE) heaviest = max(heaviest, found);
    return found;
}

// Return the least of some distances and of some sums; those that do not fit are unreachable.
uvec4 improved(uvec4 least, uvec4 from, uint arc) { return min(least, min(from, uvec4(~arc)) + arc); }

void put(uint row, uint depth, uint distance) {
    if (distance == UNREACHABLE) return;
    farthest = max(farthest, distance);
    uint at = (first_row + row) * stride + depth;
    if (distance < labels[at]) labels[at] = distance;
}

void put_all(Supernode s, uvec2 group, uint column, uvec4 found) {
    if (column + 1 >= s.num_ancestors + s.size) return;
    uint inside = column - s.num_ancestors;
    uint depth = column < s.num_ancestors ? ancestor_depth[s.first_ancestor + column] : s.depth + inside;
    put(group.x, depth, found.x);
    if (group.y > 1) put(group.x + 1, depth, found.y);
    if (group.y > 2) put(group.x + 2, depth, found.z);
    if (group.y > 3) put(group.x + 3, depth, found.w);
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
    uint column = within / here.z, second = column + quarter, third = second + quarter, fourth = third + quarter;
    uvec4 to_first = uvec4(UNREACHABLE), to_second = to_first, to_third = to_first, to_fourth = to_first;
    uint arc = first_arc_of(s, begin);
    end = min(end, s.size);
    for (uint place = begin; place < end; ++place) {
        uint count = s.num_ancestors + place;
        uvec4 from = begun[(place - begin) * num_groups + group];
        to_first = improved(to_first, from, weight_of(arc, column, count));
        to_second = improved(to_second, from, weight_of(arc, second, count));
        to_third = improved(to_third, from, weight_of(arc, third, count));
        to_fourth = improved(to_fourth, from, weight_of(arc, fourth, count));
        arc += count;
    }
    put_all(s, groups[group], column, to_first);
    put_all(s, groups[group], second, to_second);
    put_all(s, groups[group], third, to_third);
    put_all(s, groups[group], fourth, to_fourth);
}

void main() {
    uint lid = gl_LocalInvocationIndex;
    first_row = gl_WorkGroupID.x * ROWS;
    if (lid == 0) first_level = farthest_here = heaviest_here = 0;
    barrier();
    bool is_row = lid < ROWS && first_row + lid < num_rows;
    uint count = 0;  // nodes on the path in the supernode of this invocation's row
    if (is_row) {
        uvec2 seed = seeds[first_row + lid];
        Supernode s = supernodes[supernode_of[seed.x]];
        count = seed.x - s.first_node + 1;
        labels[(first_row + lid) * stride + s.depth + count - 1] = seed.y;
        farthest = seed.y;
        of_row[lid] = s;
        atomicMax(first_level, s.level + 1);
    }
    memoryBarrierBuffer();
    barrier();
    for (uint level = first_level; level > 0; --level) {
        if (lid < ROWS) on_path[lid] = is_row && of_row[lid].level + 1 == level ? count : 0;
        barrier();
        if (lid == 0) divide_rows();
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
        if (is_row && of_row[lid].level + 1 == level && level > 1) {
            Supernode s = of_row[lid];
            count = s.parent_place + 1;
            of_row[lid] = supernodes[s.parent];
        }
    }
    atomicMax(farthest_here, farthest);
    atomicMax(heaviest_here, heaviest);
    barrier();
    if (lid == 0) extremes[gl_WorkGroupID.x] = uvec2(farthest_here, heaviest_here);
    check_loops();
}
