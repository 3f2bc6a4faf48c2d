// Weights of the arcs of a hierarchy. WEIGHT(word) is a word of them: arc a has its upward weight in word 2 * a and the
// downward one in the next. With BY_ARC defined, WEIGHTS(arc) has both instead. WEIGHTS_BINDING and WEIGHTS_ACCESS may
// be defined before.

#ifndef WEIGHTS_BINDING
#define WEIGHTS_BINDING 3
#endif
#ifndef WEIGHTS_ACCESS
#define WEIGHTS_ACCESS readonly restrict
#endif

#ifdef BY_ARC
layout(std430, binding = WEIGHTS_BINDING) WEIGHTS_ACCESS buffer Weights { uvec2 weight[]; };
#define WEIGHTS(arc) weight[arc]
#else
layout(std430, binding = WEIGHTS_BINDING) WEIGHTS_ACCESS buffer Weights { uint weight[]; };
#define WEIGHT(word) weight[word]
#endif
