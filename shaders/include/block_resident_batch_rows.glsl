// The distances that are wanted of each search: of a node itself, and, where it was taken out of the graph beforehand,
// also through the one or two nodes around it that were not, see vkssp/reduction. Needs `dist`.

struct Wanted {
    uint node;
    uint first, from_first, second, from_second;  // nodes, and the weights from there; UNREACHABLE where there is none
};

// The distance of a wanted node in a search whose distances begin at some place; says whether a sum does not fit.
uint wanted_distance(Wanted to, uint begin, out bool overflow) {
    overflow = false;
    uint distance = dist[begin + to.node];
    if (to.from_first != UNREACHABLE) {
        uint first = dist[begin + to.first], through = extend(first, to.from_first);
        overflow = through == UNREACHABLE && first != UNREACHABLE;
        distance = min(distance, through);
    }
    if (to.from_second != UNREACHABLE) {
        uint second = dist[begin + to.second], through = extend(second, to.from_second);
        overflow = overflow || through == UNREACHABLE && second != UNREACHABLE;
        distance = min(distance, through);
    }
    overflow = overflow && distance == UNREACHABLE;
    return distance;
}
