// How a search stands and what it counted, with which the state of every algorithm begins.

struct Loop {
    uint done;  // 1: the search is over; 2: and so is what follows it
    uint ticket;  // workgroups that have finished this dispatch
    uint iterations;
    uint num_seeds, num_targets;
    uint best;      // length of the way to the best target
    uint overflow;   // a sum did not fit
    uint cut_short;  // the device ended a loop before its time, see check_loops()
    uint work[4];    // of this iteration: visited, worked, relaxed, improved
    uint totals[8];  // of all before it, 64 bits each, low word first
};
