// Numbers of ancestors that two nodes share, see LabelLayout in vkssp/hierarchy/labels.py and vkssp/cch/query_labels.py.
// Needs label_rows.glsl or label_record.glsl, and SHARED_NODES_BINDING.

// Two of 16 bits in a word: rows of least numbers that neighbours share, of 2**k neighbours from each place on, by k.
layout(std430, binding = SHARED_NODES_BINDING) readonly restrict buffer SharedNodes { uint shared_nodes[]; };

uint shared_from(uint at) { return (shared_nodes[at / 2] >> (16 * (at % 2))) & 0xFFFFu; }

// Return the number of ancestors that two nodes share, by the records of their rows. `row_length` is the number of
// places in a row of shared_nodes[].
uint shared_ancestors(uvec4 one, uvec4 other, uint row_length) {
    uint count = min(count_of(one.y), count_of(other.y));
    uint before = min(one.z, other.z), last = max(one.z, other.z);
    if (before == last) return count;
    uint k = findMSB(last - before), row = k * row_length;
    return min(count, min(shared_from(row + before + 1), shared_from(row + last + 1 - (1u << k))));
}
