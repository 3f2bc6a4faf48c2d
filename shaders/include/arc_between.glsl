// Arcs between ancestors of supernodes. Needs hierarchy.glsl and the ancestors.

// Return the arc between two ancestors of a supernode, of which the higher one is the j-th.
uint arc_between(uint low, uint high, uint j) {
    Supernode s = SUPERNODE(supernode_of[low]);
    uint row = first_arc_of(s, low - s.first_node);
    if (high >= s.first_node) return row + s.num_ancestors + high - s.first_node;
    // The list of the lower ancestor has all higher ones, and mostly few others.
    uint first = j, step = 1;
    while (first + step <= s.num_ancestors && WORD(ancestors, s.first_ancestor + first + step - 1) < high) {
        first += step;
        step *= 2;
    }
    uint last = min(first + step, s.num_ancestors) - 1;
    while (first < last) {
        uint middle = (first + last) / 2;
        if (WORD(ancestors, s.first_ancestor + middle) < high) first = middle + 1;
        else last = middle;
    }
    return row + first;
}
