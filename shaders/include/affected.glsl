// Supernodes that depend on few changes of weights, large ones in pieces, by the step of customization, in lists that
// kernels fill. Needs hierarchy.glsl.

// For each place in the lists: a supernode or a piece of one, and where its arcs begin among the weights before the
// change. Behind all of them, for each supernode: number of the change that it depends on, and its first piece, or 0.
layout(std430, binding = 5) coherent buffer Listed { uvec2 listed[]; };
layout(std430, binding = 6) coherent buffer State {
    uint used;     // weights before the change that have a place
    uint gave_up;  // whether there are too many
    uint count[];  // listed supernodes and pieces of each step
} state;
