"""Distances and durations as texts for people."""


def format_distance(metres: float) -> str:
    """Return a distance as a text: "640 m", "27.4 km"."""
    if metres < 999.5:
        return f"{metres:.0f} m"
    return f"{metres / 1000:.1f} km" if metres < 99_950 else f"{metres / 1000:,.0f} km"


def format_duration(seconds: float) -> str:
    """Return a duration as a text: "35 s", "43 min", "1 h 23 min"."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
