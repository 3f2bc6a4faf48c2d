// Prefix sums over a workgroup.

#ifdef NO_SUBGROUPS

shared uint sums[WORKGROUP_SIZE];

// Return the sum of all values, as below: each round adds what lies twice as far (W. D. Hillis, G. L. Steele, Data
// parallel algorithms, 1986).
uint workgroup_scan(uint value, out uint slot, out uint before) {
    slot = gl_LocalInvocationIndex;
    uint sum = value;
    for (uint distance = 1; distance < WORKGROUP_SIZE; distance *= 2) {
        sums[slot] = sum;
        barrier();
        if (slot >= distance) sum += sums[slot - distance];
        barrier();
    }
    sums[slot] = sum;
    barrier();
    uint total = sums[WORKGROUP_SIZE - 1];
    barrier();  // the caller may call this again at once
    before = sum - value;
    return total;
}

#else

const uint MAX_SUBGROUPS = WORKGROUP_SIZE;  // a subgroup has one invocation at least
shared uvec2 subgroup_sums[MAX_SUBGROUPS];  // sum of the values, number of invocations

// Return the sum of all values. Set `slot` to a number below the workgroup's size that no other invocation has, and
// `before` to the sum of the values in lower slots. Slots are not the invocations' own indices, because Vulkan does not
// say how these are assigned to subgroups. All invocations must call this.
uint workgroup_scan(uint value, out uint slot, out uint before) {
    uvec2 sums = subgroupInclusiveAdd(uvec2(value, 1));
    uvec2 all = subgroupAdd(uvec2(value, 1));
    if (subgroupElect()) subgroup_sums[gl_SubgroupID] = all;
    barrier();
    uvec2 base = uvec2(0);
    uint total = 0;
    // Mesa's llvmpipe leaves the last subgroup out of gl_NumSubgroups if it is only partly filled.
    uint num_subgroups = max(gl_NumSubgroups, (WORKGROUP_SIZE + gl_SubgroupSize - 1) / gl_SubgroupSize);
    for (uint i = 0; i < num_subgroups; ++i) {
        if (i < gl_SubgroupID) base += subgroup_sums[i];
        total += subgroup_sums[i].x;
    }
    barrier();  // the caller may call this again at once
    before = base.x + sums.x - value;
    slot = base.y + sums.y - 1;
    return total;
}

#endif
