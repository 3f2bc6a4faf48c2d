"""Preparation of a graph for searches: renumbering, reduction, blocks, and checks of seeds and targets."""
