// Perfect customization of a triangle: the arcs of the lowest node, each over the other one and the arc between the two
// upper nodes.
void perfect(uint to_low, uint to_high, uint between_up, uint between_down) {
    uint low_up = WEIGHT(to_low), low_down = WEIGHT(to_low + 1);
    uint high_up = WEIGHT(to_high), high_down = WEIGHT(to_high + 1);
    improve(to_high, low_up, between_up);
    improve(to_high + 1, between_down, low_down);
    improve(to_low, high_up, between_down);
    improve(to_low + 1, between_up, high_down);
}
