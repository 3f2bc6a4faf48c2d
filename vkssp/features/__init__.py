"""Features of maps, shapes with columns of values: the files and the tables of other libraries that hold them."""
