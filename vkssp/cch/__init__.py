"""Customizable contraction hierarchies on a device: customization, queries for pairs, and unpacking of paths."""
