"""Compiled kernels of the import of extracts, one file for each stage; the import of any of them imports numba.

They never allocate, and each is compiled once: arrays that nothing can write to have a type of their own.
"""
