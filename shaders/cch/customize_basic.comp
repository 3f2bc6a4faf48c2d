// Basic customization (J. Dibbelt, B. Strasser, D. Wagner, Customizable contraction hierarchies, 2014): afterwards no
// arc is heavier than a path through a node below both of its ends. A dispatch processes all nodes of one height; lower
// nodes come first.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "triangles.glsl"

void improve(uint word, uint one, uint other) {
    if (one == UNREACHABLE || other == UNREACHABLE) return;
    uint sum = extend(one, other);
    if (sum == UNREACHABLE) {
        atomicMax(status.overflow, 1);
    } else if (sum < weight[word]) {
        atomicMin(weight[word], sum);
    }
}

void process_triangle(uint to_low, uint to_high, uint between) {
    improve(between, weight[to_low + 1], weight[to_high]);
    improve(between + 1, weight[to_high + 1], weight[to_low]);
}

void main() {
    enumerate_triangles(true);
}
