// Perfect customization of the arcs inside supernodes, and of those over such arcs; see customize_perfect_outside.comp.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "inside_chain.glsl"
#include "perfect_triangle.glsl"

void process_triangle(uint to_low, uint to_high, uint between) {
    perfect(to_low, to_high, WEIGHT(between), WEIGHT(between + 1));
}

void main() {
    enumerate_turns(true);
}
