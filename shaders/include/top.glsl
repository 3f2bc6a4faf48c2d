// Distances at the top of the hierarchy, where supernodes have so many arcs that many workgroups search them; see
// vkssp/cch/top.py. A workgroup that searches upward alone hands over there. Needs hierarchy.glsl, and TOP_BINDING.

layout(constant_id = 5) const uint NUM_TOP = 0;  // nodes at the top
// Of each search: the distances of the nodes at the top; then the supernode where the search reached them and the
// number of its nodes that are on the path to the root, or NO_INDEX; then whether all sums fit, NO_INDEX if they do.
layout(std430, binding = TOP_BINDING) coherent buffer TopDistances { uint top_distances[]; };

const uint TOP_STRIDE = NUM_TOP + 3;
