// Next row of the least numbers of shared ancestors: of twice as many neighbours from each place on.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 64;
layout(std430, binding = 0) restrict buffer SharedNodes { uint shared_nodes[]; };  // two in a word

layout(push_constant) uniform Push {
    uint count;
    uint row_length;  // even
    uint row;         // that is made
};

uint least(uint place) {
    uint reach = 1u << (row - 1), first = (row - 1) * row_length, found = 0xFFFFu;
    for (uint part = 0; part < 2; ++part) {
        uint at = first + place + part * reach;
        if (place + part * reach < count) found = min(found, (shared_nodes[at / 2] >> (16 * (at % 2))) & 0xFFFFu);
    }
    return found;
}

void main() {
    for (uint word = gl_GlobalInvocationID.x; 2 * word < count; word += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        shared_nodes[row * row_length / 2 + word] = least(2 * word) | least(2 * word + 1) << 16;
    }
}
