// Bundles of subtrees and their steps, see vkssp/cch/bundles.py. Needs PLAN_BINDING.

// The twin of words_of_bundles: the word where the steps begin, then bundles, then the end of the arcs of each step.
layout(std430, binding = PLAN_BINDING) readonly restrict buffer Plan { uint plan[]; };

struct Bundle {
    uint first;  // place of the first node
    uint end;
    uint first_step;
    uint end_step;
    uint first_arc;
};

Bundle bundle_of(uint number) {
    uint at = 1 + 5 * number;
    return Bundle(plan[at], plan[at + 1], plan[at + 2], plan[at + 3], plan[at + 4]);
}

uint end_arc_of_step(uint number) { return plan[plan[0] + number]; }
