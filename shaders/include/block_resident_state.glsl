// State that one dispatch of block_resident leaves to the next; the host's twin is STATE in
// vkssp/algorithms/block_resident.py.

// Phases of a dispatch.
const uint RELAX = 0;  // visits the blocks in the near list
const uint SPLIT = 1;  // moves the blocks that have work below the next threshold from the far list to the near list

#include "loop_state.glsl"

// Own words of `step`.
const uint PHASE = OWN_STEP;
const uint LOW = OWN_STEP + 1;  // range of distances in progress; all nodes below `low` are final
const uint THRESHOLD = OWN_STEP + 2;
const uint NEAR_PARITY = OWN_STEP + 3;  // which half of its buffer a list is read from
const uint FAR_PARITY = OWN_STEP + 4;
const uint NEAR_LENGTH = OWN_STEP + 5;   // blocks in the near list
const uint SPLIT_LENGTH = OWN_STEP + 6;  // blocks in the far list that a split reads
const uint DELTA = OWN_STEP + 7;         // width of the bucket, and its upper limit
const uint WIDEST = OWN_STEP + 8;
const uint BUCKETS = OWN_STEP + 9;
const uint BLOCKS = OWN_STEP + 10;  // visits

struct State {
    // Words that many workgroups add to have their own cache lines, apart from the words that all read at their start.
    uint near_gap[32];
    uint near_next;  // blocks in the next near list
    uint far_gap[32];
    uint far_length, far_next;  // blocks in the far list, and, in a split, in the remaining far list
    uint nearest_gap[32];
    uint far_nearest;  // least distance that waits in the far list
    uint claimed_gap[32];
    uint claimed;  // entries of the near list beyond the first ones of the workgroups
    uint end_gap[32];
};
