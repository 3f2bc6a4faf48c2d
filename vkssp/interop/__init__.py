"""Graphs and tables of other libraries: what users hold already, and what those libraries want back."""
