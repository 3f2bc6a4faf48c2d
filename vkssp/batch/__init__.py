"""Batches of searches on a device: many searches that share the dispatches of one."""
