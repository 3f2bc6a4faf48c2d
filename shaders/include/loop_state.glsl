// Progress and counters of a search. The state of every algorithm begins with them.

#ifndef LOOP_STATE_GLSL
#define LOOP_STATE_GLSL

// Words that every workgroup reads at its start, by their places in `step`; the algorithm's own words follow from
// OWN_STEP on. They are an array, so that a workgroup reads them by a single request, see search_is_over().
const uint DONE = 0;  // 1: the search is over; 2: so are the dispatches that follow it
const uint ITERATIONS = 1;
const uint NUM_SEEDS = 2;
const uint NUM_TARGETS = 3;
const uint OWN_STEP = 4;
const uint STEP_WORDS = 16;

struct Loop {
    DISTANCE step[STEP_WORDS];
    uint ticket;  // workgroups that have finished this dispatch
    DISTANCE best;  // distance of the best target
    uint overflow;   // a sum did not fit
    uint cut_short;  // the device ended a loop early, see check_loops()
    uint work[4];    // of this iteration: visited, worked, relaxed, improved
    uint totals[8];  // of all iterations before it, 64 bits each, low word first
};
#endif
