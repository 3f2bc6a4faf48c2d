// Supernodes that hang on few changes of weights, by level, in lists that kernels fill. Needs hierarchy.glsl.

// For each place in the lists, which begin where the supernodes of the level do: a supernode, and where its arcs begin
// among the weights before the change. Behind all of them, for each supernode: the number of the change that it hangs
// on.
layout(std430, binding = 5) coherent buffer Listed { uvec2 listed[]; };
layout(std430, binding = 6) coherent buffer State {
    uint used;     // weights before the change that have a place
    uint gave_up;  // whether there are too many
    uint count[];  // listed supernodes of each level
} state;
