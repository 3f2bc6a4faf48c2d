// State that one dispatch of block_resident leaves to the next; the host's twin is STATE in
// vkssp/algorithms/block_resident.py.

// Phases of a dispatch.
const uint RELAX = 0;  // visits the blocks in the near list
const uint SPLIT = 1;  // moves the blocks that have work below the next threshold from the far list to the near list

struct State {
    uint phase;
    uint delta, widest;            // width of the bucket, and its upper limit
    uint low, threshold;           // range of distances in progress; all nodes below `low` are final
    uint near_parity, far_parity;  // which half of its buffer a list is read from
    uint near_length;              // blocks in the near list
    uint buckets;
    uint blocks;  // visits
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
