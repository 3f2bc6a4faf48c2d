"""NetworkX backend: NetworkX's own functions, answered by searches of vkssp."""
