"""Limits of requests, which keep one client from taking the server from all others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of requests; those of OSRM have its defaults.

    Attributes
    ----------
    coordinates, trip, table, matching : int
        Most coordinates of a route, of a trip, of a table (its cells are at most the square), and of a trace; -1 for
        any number.
    nearest, nearest_coordinates : int
        Most streets that a request for the nearest may ask for at a place, and its most places; -1 for any number.
    alternatives : int
        Most alternatives to a route.
    matching_radius_m : float
        Largest radius of a point of a trace; -1 for any.
    contours : int
        Most isochrones of a request; -1 for any number.
    contour_minutes : float
        Largest limit of an isochrone; -1 for any.
    avoid_areas, avoid_points : int
        Most areas that a request may avoid, and most corners of all of them; -1 for any number.
    origins, opportunities : int
        Most origins of a request for accessibility, and most opportunities; -1 for any number.
    opportunity_weights : int
        Most weights of each opportunity, as many as each origin has sums for a limit; -1 for any number.
    url_bytes, body_bytes : int
        Most bytes of the URL and of the body of a request.
    seconds : float
        Seconds after which a request is answered with an error.
    waiting : int
        Most requests that wait for a thread; more are told to come back later.
    """

    coordinates: int = 500
    trip: int = 100
    table: int = 100
    matching: int = 100
    nearest: int = 100
    nearest_coordinates: int = 10
    alternatives: int = 3
    matching_radius_m: float = -1.0
    contours: int = 10
    contour_minutes: float = 180.0
    avoid_areas: int = 50
    avoid_points: int = 2000
    origins: int = 1000
    opportunities: int = 10_000
    opportunity_weights: int = 10
    url_bytes: int = 65_536
    body_bytes: int = 8_388_608
    seconds: float = 60.0
    waiting: int = 1024
