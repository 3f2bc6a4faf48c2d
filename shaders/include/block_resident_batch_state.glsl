// How many searches at once stand; the host's twins are STATE and _SEARCH in vkssp/batch/block_resident_batch.py. Each has a slot with
// distances, thresholds and blocks of its own, and all share the dispatches. When one is over, its slot makes room for
// the next source; its row is written out between.
//
// A row is the number of a source. The rows that are written, and the seeds that are read, are in rings.

const uint NO_ROW = 0xFFFFFFFFu;

// What a slot does.
const uint EMPTY = 0;    // waits: for the row to be written out, for the next one, or both
const uint RUNNING = 1;
const uint FINISHED = 2;  // its blocks leave the lists in this dispatch

struct Search {
    uint status;
    uint row;       // that it makes, or that waits to be written out; NO_ROW
    uint next_row;  // that is begun next; NO_ROW
    uint low, threshold;  // distances that are worked on; all nodes below `low` are final
    uint far_nearest;     // least distance that waits for a later threshold
    uint woken_for;       // iteration for whose near list a block of it was last woken
    uint checked_for, unsettled_for;  // iteration in which its targets were looked at, and one of them was not settled
    uint overflow;  // a sum did not fit
    uint gap[6];    // slots have cache lines of their own, for many workgroups write to them
};

struct State {
    uint num_rows;
    uint room;       // rows that have a place in the ring
    uint next_row;   // that is begun next
    uint turned;     // iteration before which rows were written out and begun
    uint delta;      // width of a bucket
    uint limit;      // distances beyond it are not wanted
    uint splits;     // whether the far list is gone through in this dispatch
    uint near_parity, far_parity;  // which half of its buffer a list is read from
    uint near_length;              // blocks in the near list
    uint num_leaving, num_entering;  // slots whose row is to be written out, and that begin one
    uint blocks;     // visits
    uint buckets;
    // What many workgroups add to lies on cache lines of its own, away from what all read at their start.
    uint near_gap[32];
    uint near_next;  // blocks in the next near list
    uint far_gap[32];
    uint far_length, far_next;  // blocks in the far list, and, where it is gone through, in the one that comes after it
    uint claimed_gap[32];
    uint claimed;  // entries of the near list beyond the first ones of the workgroups
    uint end_gap[32];
};
