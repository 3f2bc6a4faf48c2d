// The least value of a workgroup's invocations.

shared uint least_value;

// Least of all invocations' values, the same for all of them, which must all come here.
uint workgroup_min(uint value) {
    if (gl_LocalInvocationIndex == 0) least_value = UNREACHABLE;
    barrier();
    uint least = subgroupMin(value);
    if (subgroupElect()) atomicMin(least_value, least);
    barrier();
    least = least_value;
    barrier();  // it may be used again at once
    return least;
}
