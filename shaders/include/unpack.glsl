// Buffers for unpacking paths through a hierarchy: the nodes on shortest paths, and the arcs to be replaced by the arcs
// below them. Several paths are unpacked at once, each in a slot of its own, the number of the workgroup along y. Needs
// WORK_BINDING and MARKS_BINDING defined.

struct Header {
    uint done;       // see DONE below; 0: there is more to do
    uint num_items;  // arcs found
    uint next_item;  // arcs replaced
    uint num_found;  // nodes found
    uint is_split;   // whether many workgroups replace the arcs from next_item to split_end
    uint split_end;
    uint has_no_room;
    uint num_jobs;   // pairs of the path in jobs[], which begin at first_pair
    uint first_pair; // pairs of the search
    uint num_seeds;
    uint num_targets;
    uint weight;     // of the path
    uint target;     // its index among those of the search
    uint num_fitting;  // arcs that fit the upward searches, see fitting_arcs.glsl
    uint all_arcs;   // of the first slot: arcs of all paths that have been put into the results
};
// The twins of MOST_SLOTS and MOST_JOBS in vkssp/cch/unpack.py, and of the values of `done` there.
const uint MOST_SLOTS = 128, MOST_JOBS = 1024, DONE = 1, FAILED = 2, LEFT = 3, CONTRADICTED = 4;

layout(std430, binding = WORK_BINDING) coherent buffer WorkBuffer {
    Header headers[MOST_SLOTS];
    uvec4 jobs[MOST_JOBS];  // number of the pair, source, target, weight of the path
    // For each slot the nodes: rank, distance, arc from the parent, place of the parent. From `most` on two vectors for
    // each arc: lower end, upper end, word of WEIGHT, distance of the tail; then supernode of the lower end, depth of
    // the upper end, weight.
    uvec4 lists[];
};
// For each slot, and each rank, its place in the list plus one, 0 for none; then a bit for each word of WEIGHT.
layout(std430, binding = MARKS_BINDING) coherent buffer MarksBuffer { uint all_marks[]; };

const uint NONE = 0xFFFFFFFFu;
#define HEADER headers[gl_WorkGroupID.y]
#define LIST(place) lists[3 * most * gl_WorkGroupID.y + (place)]
#define MARK_OF(rank) all_marks[marks_each * gl_WorkGroupID.y + (rank)]
#define BITS_OF(word) all_marks[marks_each * gl_WorkGroupID.y + num_nodes + (word) / 32]
