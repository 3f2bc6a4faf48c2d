// Arrays that may be larger than a device can bind, such as those with an item for each arc. A shader is compiled for
// arrays in one buffer each and, if scripts/build_shaders.py lists it, also for arrays in several buffers, with
// SPLIT_ARRAYS defined. A binding then holds the addresses of the parts, see vkssp/gpu/split_buffer.py. All such arrays
// of a kernel are in several buffers, or none of them is.
//
// PAIR(array, i) is item i of an array that is declared as uvec2 name[], and WORD(array, i) that of an array that is
// declared as WORDS name[]; both are only read. MUTABLE_PAIR and MUTABLE_WORD may be written to. No device checks bounds
// here: no index may pass the end.
#ifndef SPLIT_GLSL
#define SPLIT_GLSL

#ifdef SPLIT_ARRAYS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(constant_id = 9) const uint PART_BITS = 28;  // binary logarithm of the number of items of a part
#define PART_OF(array, i, bits) array[(i) >> (bits)]
#define IN_PART(i, bits) ((i) & ((1u << (bits)) - 1))

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer PairsPart { uvec2 pairs[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) restrict buffer MutablePairsPart { uvec2 pairs[]; };
#define PAIR(array, i) PairsPart(PART_OF(array, i, PART_BITS)).pairs[IN_PART(i, PART_BITS)]
#define MUTABLE_PAIR(array, i) MutablePairsPart(PART_OF(array, i, PART_BITS)).pairs[IN_PART(i, PART_BITS)]

layout(buffer_reference, std430, buffer_reference_align = 4) readonly restrict buffer WordsPart { uint words[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer MutableWordsPart { uint words[]; };
#define WORDS uvec2
#define WORD(array, i) WordsPart(PART_OF(array, i, PART_BITS)).words[IN_PART(i, PART_BITS)]
#define MUTABLE_WORD(array, i) MutableWordsPart(PART_OF(array, i, PART_BITS)).words[IN_PART(i, PART_BITS)]
#else
#define PAIR(array, i) array[i]
#define MUTABLE_PAIR(array, i) array[i]
#define WORDS uint
#define WORD(array, i) array[i]
#define MUTABLE_WORD(array, i) array[i]
#endif

// ENTRY(array, i) is item i of an array of NODE_DISTANCE that is declared as ENTRIES name[], and may be written to. The
// file that includes this one has included distance_type.glsl.
#ifdef NODE_DISTANCE
#ifdef SPLIT_ARRAYS
// A part has as many bytes as one of pairs.
const uint ENTRY_BITS = PART_BITS - (DISTANCE_BITS / 32 - 1);
layout(buffer_reference, std430, buffer_reference_align = 8) coherent buffer EntriesPart { NODE_DISTANCE entries[]; };
#define ENTRIES uvec2
#define ENTRY(array, i) EntriesPart(PART_OF(array, i, ENTRY_BITS)).entries[IN_PART(i, ENTRY_BITS)]
#else
#define ENTRIES NODE_DISTANCE
#define ENTRY(array, i) array[i]
#endif
#endif

#endif
