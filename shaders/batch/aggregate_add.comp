// Aggregates of a batch of searches from those of chunks of nodes, with an invocation for each word of each search.
#version 460

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(std430, binding = 0) readonly restrict buffer Partials { uvec2 partials[]; };     // by chunk, word and search
layout(std430, binding = 1) readonly restrict buffer Maxima { uint is_maximum[]; };      // of each word
layout(std430, binding = 2) writeonly restrict buffer Finished { uvec2 finished[]; };  // by search and word

layout(push_constant) uniform Push {
    uint num_chunks;
    uint num_words;
    uint num_searches;
    uint all_searches;  // with those that fill the last tile
};

void main() {
    uint count = num_words * num_searches, stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint at = gl_GlobalInvocationID.x; at < count; at += stride) {
        uint word = at / num_searches, search = at % num_searches;
        uvec2 found = uvec2(0);
        for (uint chunk = 0; chunk < num_chunks; ++chunk) {
            uvec2 part = partials[(chunk * num_words + word) * all_searches + search];
            if (is_maximum[word] == 0) {
                found.x += part.x;
                found.y += part.y + uint(found.x < part.x);
            } else if (part.y > found.y || (part.y == found.y && part.x > found.x)) {
                found = part;
            }
        }
        finished[search * num_words + word] = found;
    }
}
