// Items of the listed parts of a step, such as their nodes: all workgroups share all items alike, however unlike the
// parts are. Needs supernode_pairs.glsl or affected.glsl, and these definitions: ITEMS(s), the number of items of a part,
// ITEMS_BEFORE[i], words of shared memory that nothing else uses meanwhile, and AT_ONCE, how many there are, at most
// WORKGROUP_SIZE.

// Find an item by its number among those of the parts from `first` on, and return the number of items. `part` is the
// part's place in the list, or `end` if there are fewer, and `item` becomes the number among the items of the part. All
// invocations must call this.
uint find_item(uint first, uint end, inout uint item, out uint part) {
    uint lid = gl_LocalInvocationIndex, total = 0, wanted = item;
    part = end;
    for (; first < end; first += AT_ONCE) {
        uint count = min(AT_ONCE, end - first);
        barrier();
        if (lid < count) {
            Supernode s = SUPERNODE(listed[first + lid].x);
            ITEMS_BEFORE[lid] = ITEMS(s);
        }
        barrier();
        for (uint step = 1; step < count; step *= 2) {
            uint before = lid >= step && lid < count ? ITEMS_BEFORE[lid - step] : 0;
            barrier();
            if (lid < count) ITEMS_BEFORE[lid] += before;
            barrier();
        }
        uint here = ITEMS_BEFORE[count - 1];
        if (wanted >= total && wanted < total + here) {
            uint low = 0, high = count - 1;
            while (low < high) {
                uint middle = (low + high) / 2;
                if (total + ITEMS_BEFORE[middle] <= wanted) low = middle + 1;
                else high = middle;
            }
            part = first + low;
            item = wanted - total - (low > 0 ? ITEMS_BEFORE[low - 1] : 0);
        }
        total += here;
    }
    barrier();
    return total;
}
