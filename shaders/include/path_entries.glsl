// Arrays of a workgroup with an entry for each node on a path to the root, by depth: in shared memory, as far as they
// fit. Where the path is too long for that, the entries of its lowest nodes are in a buffer; see
// vkssp/cch/path_entries.py. Needs PATH_ENTRIES, PATH_ARRAYS, PATH_GROUP, the number of the workgroup, and PATH_BINDING.

layout(constant_id = 7) const uint NUM_SHARED = 128;  // entries of each array in shared memory
layout(std430, binding = PATH_BINDING) coherent buffer Entries { uint entries[]; };

// Whether an entry is in shared memory; it is known beforehand that all are, where paths are not long.
bool is_shared(uint i) { return NUM_SHARED == PATH_ENTRIES || i < NUM_SHARED; }

// Return the place in entries[] of an entry of an array that is not in shared memory.
uint entry_at(uint number, uint i) {
    return (PATH_GROUP * PATH_ARRAYS + number) * (PATH_ENTRIES - NUM_SHARED) + i - NUM_SHARED;
}

// Wait for all invocations of the workgroup, and see what they have written to entries.
void synchronize() {
    if (NUM_SHARED < PATH_ENTRIES) memoryBarrierBuffer();
    barrier();
}
