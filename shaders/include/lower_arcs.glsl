// Lower arcs of the arcs of a hierarchy. For each word of WEIGHT, that is each direction of each arc, the words of both
// arcs in the order of the path; or the place of an arc of the graph in arcs_in[] and IS_ARC; or HAS_NONE if the arc stands
// for no path; or HAS_SEVERAL if it stands for several and none of them has been chosen, and the first one of these ties.
const uint IS_ARC = 0xFFFFFFFFu, HAS_SEVERAL = 0xFFFFFFFEu, HAS_NONE = 0xFFFFFFFDu;

#ifdef TIES_BINDING
// Ties: a word, one of its alternatives as in lower[], the next tie of the word, and the one that is chosen for it, each
// NO_INDEX if there is none. If there are more than there is room for, none is resolved.
struct Tie {
    uint word;
    uint one;
    uint other;
    uint next;
    uint chosen;
};
layout(std430, binding = TIES_BINDING) coherent buffer Ties {
    uint num_ties;
    Tie ties[];
};

uint put_tie(uint word, uvec2 words, uint room) {
    uint place = atomicAdd(num_ties, 1);
    if (place < room) ties[place] = Tie(word, words.x, words.y, NO_INDEX, NO_INDEX);
    return place;
}
#endif
