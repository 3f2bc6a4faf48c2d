"""Compiled code of the server."""
