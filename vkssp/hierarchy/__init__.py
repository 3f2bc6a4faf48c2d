"""Preprocessing of customizable contraction hierarchies: orders, elimination, supernodes."""
