// Basic customization (J. Dibbelt, B. Strasser, D. Wagner, Customizable contraction hierarchies, 2014): afterwards no
// arc is heavier than a path through a node below both of its ends. Supernodes of lower levels come first. This kernel
// eliminates the nodes of supernodes, the lowest first, as far as arcs of these supernodes are concerned.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "inside_chain.glsl"

void process_triangle(uint to_low, uint to_high, uint between) {
    improve(between, WEIGHT(to_low + 1), WEIGHT(to_high));
    improve(between + 1, WEIGHT(to_high + 1), WEIGHT(to_low));
}

void main() {
    enumerate_turns(false);
}
