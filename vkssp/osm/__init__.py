"""Import of OpenStreetMap extracts as graphs."""

from vkssp.osm.extract import is_extract
from vkssp.osm.importer import import_extract, read_extract
from vkssp.osm.report import ImportReport

__all__ = ["ImportReport", "import_extract", "is_extract", "read_extract"]
