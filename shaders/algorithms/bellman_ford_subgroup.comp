// One iteration of Bellman-Ford with virtual warps. A group of lanes relaxes the arcs of a node together.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "split.glsl"
#include "bellman_ford_nodes.glsl"
#include "virtual_warp.glsl"
