"""Publications that the algorithms come from."""

BEAMER = "S. Beamer, K. Asanovic, D. Patterson, Direction-optimizing breadth-first search, 2012"
BELLMAN_FORD = "R. Bellman, On a routing problem, 1958; L. R. Ford, Network flow theory, 1956"
CHAKARAVARTHY = (
    "V. T. Chakaravarthy, F. Checconi, P. Murali, F. Petrini, Y. Sabharwal, Scalable single source shortest path "
    "algorithms for massively parallel systems, 2014"
)
CRAUSER = "A. Crauser, K. Mehlhorn, U. Meyer, P. Sanders, A parallelization of Dijkstra's shortest path algorithm, 1998"
DAVIDSON = (
    "A. Davidson, S. Baxter, M. Garland, J. D. Owens, Work-efficient parallel GPU methods for single-source shortest "
    "paths, 2014"
)
DIJKSTRA = "E. W. Dijkstra, A note on two problems in connexion with graphs, 1959"
GEISBERGER = (
    "R. Geisberger, P. Sanders, D. Schultes, D. Delling, Contraction hierarchies: faster and simpler hierarchical "
    "routing in road networks, 2008"
)
HONG = "S. Hong, S. K. Kim, T. Oguntebi, K. Olukotun, Accelerating CUDA graph algorithms at maximum warp, 2011"
JOHNSON = "D. B. Johnson, Priority queues with update and finding minimum spanning trees, 1975"
MARTIN = "P. Martin, R. Torres, A. Gavilanes, CUDA solutions for the SSSP problem, 2009"
MEYER_SANDERS = "U. Meyer, P. Sanders, Delta-stepping: a parallelizable shortest path algorithm, 2003"
NIKLAUS = "P. Niklaus, Optimizing Delta-Step on the GPU, 2026"
ORTEGA = (
    "H. Ortega-Arranz, Y. Torres, A. Gonzalez-Escribano, D. R. Llanos, Comprehensive evaluation of a new GPU-based "
    "approach to the shortest path problem, 2015"
)
CRAUSER_AS_EVALUATED, MARTIN_AS_EVALUATED = f"{CRAUSER}; {ORTEGA}", f"{MARTIN}; {ORTEGA}"
SONG_DU = "Y. Song, X. Du, Warp-centric CUDA programming for SSSP algorithms, 2021"
THREAD_PER_EDGE = "GPU SSSP implementation, an article on RMAT graphs on a GTX Titan whose author is not named"
DELLING = (
    "D. Delling, A. V. Goldberg, A. Nowatzyk, R. F. Werneck, PHAST: Hardware-accelerated shortest path trees, 2011"
)
DIBBELT = "J. Dibbelt, B. Strasser, D. Wagner, Customizable contraction hierarchies, 2014"
