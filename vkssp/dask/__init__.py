"""Work of many machines: tables and other results in tasks of dask, which keep solvers between them."""

from vkssp.dask.accessibility import accessibility as accessibility
from vkssp.dask.accessibility import node_accessibility as node_accessibility
from vkssp.dask.centrality import centrality as centrality
from vkssp.dask.centrality import sampled_centrality as sampled_centrality
from vkssp.dask.centrality import straightness as straightness
from vkssp.dask.cluster import connected as connected
from vkssp.dask.cluster import local_cluster as local_cluster
from vkssp.dask.isochrones import isochrones as isochrones
from vkssp.dask.loads import betweenness as betweenness
from vkssp.dask.loads import flows as flows
from vkssp.dask.nearest import nearest as nearest
from vkssp.dask.nearest import nearest_opportunities as nearest_opportunities
from vkssp.dask.regions import map_regions as map_regions
from vkssp.dask.skims import skims as skims
from vkssp.dask.tables import DaskTable as DaskTable
from vkssp.dask.tables import distances as distances
from vkssp.dask.tables import pairs as pairs
from vkssp.dask.tables import table as table
