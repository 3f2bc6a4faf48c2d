// Type of distances. A shader is compiled for distances of 32 bits and, if scripts/build_shaders.py lists it, also for
// distances of 64 bits. Weights, nodes and indices always have 32 bits.
//
// DISTANCE is the type of a distance, NODE_DISTANCE that of a pair of a node, which is `uint(pair.x)`, and a distance.
// SHARED_DISTANCE(place) reads a distance that other invocations may improve meanwhile. A plain read of 64 bits might
// return one half from before an improvement and the other half from after it.

#ifndef DISTANCE_BITS
#define DISTANCE_BITS 32
#endif

#if DISTANCE_BITS == 64
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_KHR_memory_scope_semantics : require
#define DISTANCE uint64_t
#define NODE_DISTANCE u64vec2
#define SHARED_DISTANCE(place) atomicLoad(place, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed)
#else
#define DISTANCE uint
#define NODE_DISTANCE uvec2
#define SHARED_DISTANCE(place) place
#endif
