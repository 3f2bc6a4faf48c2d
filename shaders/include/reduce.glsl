// The least value of a workgroup's invocations.

shared uint least_value;

// Least of all invocations' values, the same for all of them, which must all come here.
uint workgroup_min(uint value) {
    if (gl_LocalInvocationIndex == 0) least_value = UNREACHABLE;
    barrier();
    // Not subgroupMin: in block_resident NVIDIA's driver 580 gave something else than the least for it.
    if (value != UNREACHABLE) atomicMin(least_value, value);
    barrier();
    uint least = least_value;
    barrier();  // it may be used again at once
    return least;
}
