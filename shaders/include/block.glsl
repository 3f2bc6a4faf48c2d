// Record that a search keeps of each block.

struct Block {
    uint woken_for;  // iteration for whose near list it was last woken
    uint waiting;    // lower bound of waiting work at or beyond the threshold; UNREACHABLE if not in the far list
};
