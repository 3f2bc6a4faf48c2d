// Minimum over the invocations of a workgroup.

shared uint least_value;

// Return the least value of all invocations, the same for all of them. All invocations must call this.
uint workgroup_min(uint value) {
    if (gl_LocalInvocationIndex == 0) least_value = NO_INDEX;
    barrier();
    // Not subgroupMin: in block_resident NVIDIA's driver 580 did not return the minimum.
    if (value != NO_INDEX) atomicMin(least_value, value);
    barrier();
    uint least = least_value;
    barrier();  // the caller may call this again at once
    return least;
}

#if DISTANCE_BITS == 64
// The same by halves, since fewer devices have atomic operations of 64 bits in shared memory than in buffers.
DISTANCE workgroup_min(DISTANCE value) {
    uint high = uint(value >> 32), least_high = workgroup_min(high);
    uint least_low = workgroup_min(high == least_high ? uint(value) : NO_INDEX);
    return DISTANCE(least_high) << 32 | least_low;
}
#endif
