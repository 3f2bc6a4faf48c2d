// One iteration of Bellman-Ford with a thread per node. Each invocation relaxes all arcs of its nodes.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "split.glsl"
#include "bellman_ford_nodes.glsl"
#include "thread_per_node.glsl"
