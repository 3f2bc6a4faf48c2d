"""Turn-by-turn guidance: intersections, turns, lanes and the steps of a leg."""
