// Records of rows of labels: first unit, number of entries and part, place for shared_ancestors.glsl, and a fourth word.

// The twins of UNIT and COUNT_BITS in vkssp/hierarchy/labels.py.
const uint UNIT = 8, COUNT_BITS = 16;

// Return the number of entries of a row, and its part, of the second word of its record.
uint count_of(uint word) { return word & ((1u << COUNT_BITS) - 1); }
uint part_of(uint word) { return word >> COUNT_BITS; }
