"""The compiled parts, one file for each algorithm; importing any of them imports numba.

All take uint32 arrays and compute in uint64, where no sum of two overflows and no index needs a check of its sign.
numba makes a float of a uint64 and a signed integer, hence the constants. A kernel never allocates; `rows` is an array
of dtype `ROW` that takes a row for each iteration, or is empty, and then none is written.
"""
