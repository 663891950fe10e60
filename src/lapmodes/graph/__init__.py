"""From points to a graph: neighbours, affinities, bandwidths, Laplacian."""
