// What a search knows of each block.

struct Block {
    uint woken_for;  // iteration for whose near list it was last woken
    uint waiting;    // no node with work at or beyond the threshold is nearer; UNREACHABLE if it is not in the far list
};
