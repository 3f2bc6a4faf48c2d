"""What is done to a graph before a search: renumbering, reduction, blocks, and the checks of seeds and targets."""
