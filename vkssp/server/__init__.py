"""Routing server: OSRM's HTTP API, version 1, and what it lacks, over routers of one or more graphs."""
