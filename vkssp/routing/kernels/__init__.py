"""Compiled kernels of routes, one file for each stage; the import of any of them imports numba.

Kernels read the arrays of an index as they are, read-only, so that each is compiled once. They never allocate.
"""
