// One sweep of delta-stepping with an array of buckets and a thread per node.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "split.glsl"
#include "delta_step_array.glsl"
#include "thread_per_node.glsl"
