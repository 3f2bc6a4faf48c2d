// Marking of the downward arcs that no sweep needs: those for which the path over another ancestor of the same list is
// as short. Each chain of such replacements ends, because the rest of the path to the node gets lighter or else begins
// farther down.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "triangles.glsl"
layout(std430, binding = 6) coherent buffer Marks { uint is_needless[]; };  // by arc

void process_triangle(uint to_low, uint to_high, uint between) {
    uint up = weight[between], down = weight[between + 1], low = weight[to_low + 1], high = weight[to_high + 1];
    if (low == UNREACHABLE || high == UNREACHABLE) return;
    // Weights are perfect, so no sum is less than the arc that it is compared with.
    if (up != 0 && up <= low && low - up == high) is_needless[to_low / 2] = 1;
    if (down <= high && high - down == low) is_needless[to_high / 2] = 1;
}

void main() {
    enumerate_triangles(false);
}
