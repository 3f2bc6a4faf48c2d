// Entries that many invocations append to a queue in one buffer: a subgroup takes places for all of its own with a
// single atomic addition.

// Returns the place for this invocation's entry; of no use to those that have none.
#define TAKE_PLACES(counter, has_entry, place) \
    { \
        uvec4 ballot = subgroupBallot(has_entry); \
        uint count = subgroupBallotBitCount(ballot), base = 0; \
        if (count != 0) { \
            if (subgroupElect()) base = atomicAdd(counter, count); \
            base = subgroupBroadcastFirst(base); \
        } \
        place = base + subgroupBallotExclusiveBitCount(ballot); \
    }
