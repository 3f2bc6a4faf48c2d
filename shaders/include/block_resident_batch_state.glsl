// State of many searches at once. The host's twins are STATE and _SEARCH in vkssp/batch/block_resident_batch.py. Each
// search has a slot with its own distances, thresholds and blocks; all searches share the dispatches. When a search is
// over, its row is written out and its slot takes the next source.
//
// A row is the number of a source. The written rows and the seeds lie in rings.

const uint NO_ROW = 0xFFFFFFFFu;

// Status of a slot.
const uint EMPTY = 0;    // waits: for the row to be written out, for the next one, or both
const uint RUNNING = 1;
const uint FINISHED = 2;  // its blocks leave the lists in this dispatch

struct Search {
    uint status;
    uint row;       // row in progress, or row that waits to be written out; NO_ROW for none
    uint next_row;  // row that begins next; NO_ROW for none
    uint low, threshold;  // range of distances in progress; all nodes below `low` are final
    uint far_nearest;     // least distance that waits for a later threshold
    uint woken_for;       // iteration for whose near list a block of it was last woken
    uint checked_for, unsettled_for;  // iterations: targets were checked; a target was not settled
    uint overflow;  // a sum did not fit
    uint gap[6];    // each slot has its own cache line, because many workgroups write to it
};

#include "loop_state.glsl"

// Own words of `step`.
const uint SPLITS = OWN_STEP;           // whether this dispatch goes through the far list
const uint NEAR_PARITY = OWN_STEP + 1;  // which half of its buffer a list is read from
const uint FAR_PARITY = OWN_STEP + 2;
const uint NEAR_LENGTH = OWN_STEP + 3;   // blocks in the near list
const uint SPLIT_LENGTH = OWN_STEP + 4;  // blocks in the far list, if this dispatch goes through it

struct State {
    uint num_rows;
    uint room;       // rows that have a place in the ring
    uint next_row;   // row that begins next
    uint turned;     // iteration before which rows were written out and searches begun
    uint delta;      // width of a bucket
    uint limit;      // distances beyond it are not wanted
    uint num_leaving, num_entering;  // slots whose row is to be written out; slots that begin a row
    uint blocks;     // visits
    uint buckets;
    // Words that many workgroups add to have their own cache lines, apart from the words that all read at their start.
    uint near_gap[32];
    uint near_next;  // blocks in the next near list
    uint far_gap[32];
    uint far_length, far_next;  // blocks in the far list, and, in a pass through it, in the next one
    uint claimed_gap[32];
    uint claimed;  // entries of the near list beyond the first ones of the workgroups
    uint end_gap[32];
};
