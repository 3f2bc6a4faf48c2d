"""Compiled kernels of algorithms on the CPU, one file for each; the import of any of them imports numba.

Kernels take uint32 arrays and compute in uint64, in which a sum of two values does not overflow and an index needs no
check of its sign. numba converts a uint64 and a signed integer to a float, so constants are uint64, too. A kernel never
allocates. `rows` is an array of dtype `ROW` for one record of each iteration; it is empty if no trace is wanted.
"""
