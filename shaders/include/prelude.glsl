// Common beginning of the kernels of a solver.
#extension GL_KHR_memory_scope_semantics : require
#include "distance.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
