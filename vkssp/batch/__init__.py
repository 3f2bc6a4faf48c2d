"""Many searches at once on a device."""
