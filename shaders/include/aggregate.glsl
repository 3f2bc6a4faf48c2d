// Aggregates of the distances of a batch of searches: sums over all rows of a tile, as integers of 64 bits in two words.
// A workgroup takes a chunk of the rows of a tile; its invocations take four searches each, and every n-th row. What it
// finds for the chunk is added up with the other chunks by aggregate_add.comp. The shader defines GIVEN, what is pushed
// for it alone.

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;  // a multiple of SEARCHES / 4
layout(constant_id = 2) const uint SEARCHES = 32;         // of a tile, a power of two, 4 at least
layout(std430, binding = 0) readonly restrict buffer Distances { uvec4 dist[]; };
layout(std430, binding = 1) writeonly restrict buffer Partials { uvec2 partials[]; };  // by chunk, word and search

layout(push_constant) uniform Push {
    uint num_rows;
    uint num_tiles;
    uint num_chunks;  // of a tile
    uint num_words;   // of a search, with those of other aggregates
    uint first_word;
    GIVEN
};

const uint QUADS = SEARCHES / 4;
shared uvec4 low_words[WORKGROUP_SIZE];
shared uvec4 high_words[WORKGROUP_SIZE];

// Add 64-bit integers to others.
void add(inout uvec4 low, inout uvec4 high, uvec4 more_low, uvec4 more_high) {
    low += more_low;
    high += more_high + uvec4(lessThan(low, more_low));
}

// Add a 64-bit integer to those of the searches that it counts for.
void add_if(inout uvec4 low, inout uvec4 high, uvec2 value, bvec4 counts) {
    add(low, high, mix(uvec4(0), uvec4(value.x), counts), mix(uvec4(0), uvec4(value.y), counts));
}

void raise(inout uvec4 low, inout uvec4 high, uvec4 other_low, uvec4 other_high) {
    for (uint i = 0; i < 4; ++i) {
        if (other_high[i] > high[i] || (other_high[i] == high[i] && other_low[i] > low[i])) {
            high[i] = other_high[i];
            low[i] = other_low[i];
        }
    }
}

// Write a word of four searches for a chunk: the sum, or the maximum, over the invocations that have these searches.
// All invocations must call this.
void write_word(uint tile, uint chunk, uint word, uvec4 low, uvec4 high, bool is_maximum) {
    uint lane = gl_LocalInvocationIndex;
    barrier();
    low_words[lane] = low;
    high_words[lane] = high;
    barrier();
    if (lane >= QUADS) return;
    for (uint other = lane + QUADS; other < WORKGROUP_SIZE; other += QUADS) {
        if (is_maximum) {
            raise(low, high, low_words[other], high_words[other]);
        } else {
            add(low, high, low_words[other], high_words[other]);
        }
    }
    uint first = (chunk * num_words + first_word + word) * num_tiles * SEARCHES + tile * SEARCHES + 4 * lane;
    for (uint i = 0; i < 4; ++i) partials[first + i] = uvec2(low[i], high[i]);
}
