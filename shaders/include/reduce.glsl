// Minimum over the invocations of a workgroup.

shared uint least_value;

// Return the least value of all invocations, the same for all of them. All invocations must call this.
uint workgroup_min(uint value) {
    if (gl_LocalInvocationIndex == 0) least_value = UNREACHABLE;
    barrier();
    // Not subgroupMin: in block_resident NVIDIA's driver 580 did not return the minimum.
    if (value != UNREACHABLE) atomicMin(least_value, value);
    barrier();
    uint least = least_value;
    barrier();  // the caller may call this again at once
    return least;
}
