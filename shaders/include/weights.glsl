// Weights of the arcs of a hierarchy. WEIGHT(word) is a word of them: arc a has its upward weight in word 2 * a and the
// downward one in the next. With BY_ARC defined, WEIGHTS(arc) has both instead. WEIGHTS_BINDING and WEIGHTS_ACCESS may
// be defined before.
#include "split.glsl"

#ifndef WEIGHTS_BINDING
#define WEIGHTS_BINDING 3
#endif
#ifndef WEIGHTS_ACCESS
#define WEIGHTS_ACCESS readonly restrict
#endif
#ifdef BY_ARC
#define WEIGHTS_TYPE uvec2
#else
#define WEIGHTS_TYPE uint
#endif

#ifdef SPLIT_ARRAYS
layout(std430, binding = WEIGHTS_BINDING) readonly restrict buffer Weights { uvec2 weight[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) WEIGHTS_ACCESS buffer WeightsPart { WEIGHTS_TYPE items[]; };
#define WEIGHTS(arc) WeightsPart(PART_OF(weight, arc, PART_BITS)).items[IN_PART(arc, PART_BITS)]
#define WEIGHT(word) WeightsPart(PART_OF(weight, word, PART_BITS + 1)).items[IN_PART(word, PART_BITS + 1)]
#else
layout(std430, binding = WEIGHTS_BINDING) WEIGHTS_ACCESS buffer Weights { WEIGHTS_TYPE weight[]; };
#define WEIGHTS(arc) weight[arc]
#define WEIGHT(word) weight[word]
#endif
