"""Algorithms on a Vulkan device, one file each, the registry of all algorithms, and the choice among them."""
