// Wanted distances of each search. The distance of a removed node also counts the paths through the one or two nodes
// around it that were not removed, see vkssp/prepared/reduction.py. Needs `dist`.

struct Wanted {
    uint node;
    uint first, from_first, second, from_second;  // nodes, and the weights from there; UNREACHABLE for none
};

// Return the distance of a wanted node in the search whose distances start at `begin`; set `overflow` if the sum does
// not fit.
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
