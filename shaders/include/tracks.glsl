// Tracks of a pair's upward searches, among the upward labels of phast_few_pairs.comp: a header, and arcs by which
// distances were found, those to distances that were improved later among them. Needs HEIGHT and `most_kept`.
//
// The header: number of arcs, which may be more than there is room for, or NO_INDEX if not all are known; the distance of
// the pair; the depths of the source, with the highest bit set if a sum did not fit, and of the target. An arc: its word of
// WEIGHT; the depth of its lower end, and of its upper one, with the highest bit set in the search from the target; and
// the distance there.
layout(constant_id = 10) const uint MOST_TRACKS = 2047;
#define TRACKS_OF(pair) (2 * most_kept * HEIGHT + (pair) * (MOST_TRACKS + 1))
