// Progress and counters of a search. The state of every algorithm begins with them.

struct Loop {
    uint done;  // 1: the search is over; 2: so are the dispatches that follow it
    uint ticket;  // workgroups that have finished this dispatch
    uint iterations;
    uint num_seeds, num_targets;
    DISTANCE best;  // distance of the best target
    uint overflow;   // a sum did not fit
    uint cut_short;  // the device ended a loop early, see check_loops()
    uint work[4];    // of this iteration: visited, worked, relaxed, improved
    uint totals[8];  // of all iterations before it, 64 bits each, low word first
};
