"""Work of many machines: tables and other results in tasks of dask, which keep solvers between them."""

from vkssp.dask.analysis import accessibility as accessibility
from vkssp.dask.analysis import betweenness as betweenness
from vkssp.dask.analysis import centrality as centrality
from vkssp.dask.analysis import flows as flows
from vkssp.dask.analysis import nearest_opportunities as nearest_opportunities
from vkssp.dask.cluster import connected as connected
from vkssp.dask.cluster import local_cluster as local_cluster
from vkssp.dask.isochrones import isochrones as isochrones
from vkssp.dask.regions import map_regions as map_regions
from vkssp.dask.tables import DaskTable as DaskTable
from vkssp.dask.tables import distances as distances
from vkssp.dask.tables import pairs as pairs
from vkssp.dask.tables import table as table
