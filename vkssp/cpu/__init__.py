"""Algorithms on the CPU, compiled by numba, which is imported when the first algorithm is created."""
