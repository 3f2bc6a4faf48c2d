// Pointer doubling: doubles the length of each node's jump toward its seed.
#version 460

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer Jumps { uint jump[]; };
layout(std430, binding = 1) writeonly restrict buffer Next { uint next[]; };

layout(push_constant) uniform Push {
    uint num_nodes;
};

void main() {
    for (uint node = gl_GlobalInvocationID.x; node < num_nodes; node += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        next[node] = jump[jump[node]];
    }
}
