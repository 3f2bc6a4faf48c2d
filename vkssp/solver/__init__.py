"""Solvers and pools: distances, paths and tables for the ids of nodes."""
