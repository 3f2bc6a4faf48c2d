// Appending to a queue in one buffer by many invocations: a subgroup takes places for all of its entries with a single
// atomic addition. With NO_SUBGROUPS each invocation takes its own.

#ifdef NO_SUBGROUPS

#define TAKE_PLACES(counter, has_entry, place) \
    { place = has_entry ? atomicAdd(counter, 1) : 0; }

#else

// Set `place` to the place for this invocation's entry; without an entry the value has no meaning.
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

#endif
