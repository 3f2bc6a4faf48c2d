"""Steps from a graph to a search: renumbering, reduction, blocks of arcs, and checks of seeds and targets."""
