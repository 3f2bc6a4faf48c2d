// What one dispatch of block_resident leaves to the next; the host's twin is STATE in vkssp/algorithms/block_resident.py.

// What a dispatch does.
const uint RELAX = 0;  // visits the blocks in the near list
const uint SPLIT = 1;  // moves the blocks that have work below the next threshold from the far list to the near list

struct State {
    uint phase;
    uint delta, widest;            // width of the bucket, and what it grows to
    uint low, threshold;           // distances that are worked on; all nodes below `low` are final
    uint near_parity, far_parity;  // which half of its buffer a list is read from
    uint near_length;              // blocks in the near list
    uint buckets;
    uint blocks;  // visits
    // What many workgroups add to lies on cache lines of its own, away from what all read at their start.
    uint near_gap[32];
    uint near_next;  // blocks in the next near list
    uint far_gap[32];
    uint far_length, far_next;  // blocks in the far list, and, in a split, in the one that is left
    uint nearest_gap[32];
    uint far_nearest;  // least distance that waits in the far list
    uint claimed_gap[32];
    uint claimed;  // entries of the near list beyond the first ones of the workgroups
    uint end_gap[32];
};
