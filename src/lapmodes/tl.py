"""Laplacian K-modes in the manner of other libraries: a tool for AnnData (scverse), a clusterer for Toponymy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ._estimator import LaplacianKModes
from ._records import Array
from ._rows import as_dense
from .layers import fit_layers

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_KEY = "laplacian_kmodes"


def laplacian_kmodes(
    adata: Any,
    n_clusters: int | str = 8,
    *,
    restrict_to: tuple[str, Sequence[str]] | None = None,
    random_state: Any = 0,
    key_added: str = DEFAULT_KEY,
    neighbors_key: str | None = None,
    obsp: str | None = None,
    use_rep: str | None = None,
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Cluster the cells of an AnnData object on its neighbour graph, in the manner of ``scanpy.tl.leiden``.

    Run ``scanpy.pp.neighbors`` first, or name any symmetric matrix of affinities in ``adata.obsp``.

    Parameters
    ----------
    adata : AnnData
        The annotated cells.
    n_clusters : int or 'auto', default=8
        Exactly so many clusters, or a number that the data choose.
    restrict_to : tuple (key, categories), optional
        Cluster only the cells whose ``adata.obs[key]`` is one of the categories; others keep their category. The new
        names are the categories, a comma and the number of the cluster.
    random_state : int, RandomState or None, default=0
        Seed of the start.
    key_added : str, default='laplacian_kmodes'
        Name under which the results are stored; with `restrict_to` the default is 'laplacian_kmodes_R'.
    neighbors_key : str, optional
        Where ``adata.uns`` describes the neighbours, 'neighbors' by default.
    obsp : str, optional
        The graph itself, ``adata.obsp[obsp]``, in place of `neighbors_key`.
    use_rep : str, optional
        Where the modes live: a key of ``adata.obsm``, or 'X'. By default what the neighbours were searched in, else
        'X_pca' if there is one, else X.
    copy : bool, default=False
        Leave `adata` alone and return a copy with the results.
    **parameters
        Passed on to :class:`lapmodes.LaplacianKModes`.

    Returns
    -------
    AnnData or None
        A copy if asked for. These are set:

        ``adata.obs[key_added]``
            The cluster of each cell, a categorical column.
        ``adata.obsm[key_added + '_shares']``
            The share of each cell in each cluster; NaN for cells that were left out by `restrict_to`.
        ``adata.uns[key_added]``
            'params', the values found for 'lam', 'bandwidth', 'objective', 'gap', 'status', the 'modes' and the names
            of the cells nearest to them, 'exemplars'.

    Examples
    --------
    >>> import anndata, numpy as np  # doctest: +SKIP
    >>> from lapmodes.tl import laplacian_kmodes  # doctest: +SKIP
    >>> laplacian_kmodes(adata, 12)  # doctest: +SKIP
    >>> adata.obs["laplacian_kmodes"].value_counts()  # doctest: +SKIP
    """
    import pandas as pd

    for name in ("obs", "obsm", "obsp", "uns"):
        if not hasattr(adata, name):
            raise TypeError(f"'adata' must be an AnnData object. Got {type(adata).__name__}, which has no {name!r}.")
    adata = adata.copy() if copy else adata
    graph, searched_in = _graph(adata, neighbors_key, obsp)
    points, used = _representation(adata, use_rep, searched_in)
    cells = np.arange(points.shape[0])
    if restrict_to is not None:
        key_added = f"{DEFAULT_KEY}_R" if key_added == DEFAULT_KEY else key_added
        cells = _restricted(adata, restrict_to)
        points, graph = points[cells], csr_array(csr_array(graph)[cells][:, cells])
    model = LaplacianKModes(n_clusters, random_state=random_state, **parameters).fit(points, graph=graph)
    names, categories = _names(adata, model.labels_, model.n_clusters_, cells, restrict_to)
    adata.obs[key_added] = pd.Categorical(names, categories=categories)
    shares = np.full((adata.shape[0], model.n_clusters_), np.nan)
    shares[cells] = as_dense(model.assignments_)
    adata.obsm[f"{key_added}_shares"] = shares
    given = {"n_clusters": n_clusters, "random_state": random_state, "use_rep": used, **parameters}
    adata.uns[key_added] = {
        "params": {name: value for name, value in given.items() if isinstance(value, (bool, int, float, str))},
        "lam": float(model.lam_),
        "bandwidth": model.bandwidth_,
        "objective": float(model.objective_),
        "gap": float(model.gap_),
        "status": model.status_,
        "modes": model.cluster_centers_,
        "exemplars": np.asarray(adata.obs_names[cells[model.exemplars_]], dtype=str),
    }
    return adata if copy else None


def _graph(adata: Any, neighbors_key: str | None, obsp: str | None) -> tuple[Any, dict[str, Any]]:
    """The affinities between cells, and what the neighbours were searched with."""
    if obsp is not None and neighbors_key is not None:
        raise ValueError("'obsp' and 'neighbors_key' both name a graph. Give one of them.")
    if obsp is not None:
        if obsp not in adata.obsp:
            raise KeyError(f"'obsp' must be a key of adata.obsp, one of {list(adata.obsp)}. Got {obsp!r}.")
        return _symmetric(adata.obsp[obsp]), {}
    key = "neighbors" if neighbors_key is None else neighbors_key
    if key not in adata.uns:
        raise KeyError(f"adata.uns has no {key!r}. Run scanpy.pp.neighbors first, or name a graph with 'obsp'.")
    said = adata.uns[key]
    return _symmetric(adata.obsp[said.get("connectivities_key", "connectivities")]), dict(said.get("params", {}))


def _symmetric(graph: Any) -> Any:
    """The larger weight of both directions: approximate searches leave rounding between them."""
    W = csr_array(graph)
    return W.maximum(W.T)


def _representation(adata: Any, use_rep: str | None, searched_in: dict[str, Any]) -> tuple[Any, str]:
    """The coordinates of the cells, and their name."""
    name = use_rep or searched_in.get("use_rep") or ("X_pca" if "X_pca" in adata.obsm else "X")
    if name == "X":
        return (csr_array(adata.X) if issparse(adata.X) else np.asarray(adata.X)), name
    if name not in adata.obsm:
        raise KeyError(f"'use_rep' must be 'X' or a key of adata.obsm, one of {list(adata.obsm)}. Got {name!r}.")
    points = np.asarray(adata.obsm[name])
    columns = searched_in.get("n_pcs") if use_rep is None else None
    return (points if columns is None else points[:, : int(columns)]), name


def _restricted(adata: Any, restrict_to: tuple[str, Sequence[str]]) -> Array:
    """The cells of these categories."""
    key, categories = restrict_to
    if key not in adata.obs:
        raise KeyError(f"'restrict_to' must begin with a column of adata.obs. Got {key!r}.")
    there = set(adata.obs[key].astype(str))
    if missing := [each for each in categories if each not in there]:
        raise ValueError(
            f"'restrict_to' names categories that {key!r} does not have: {missing}. It has {sorted(there)}."
        )
    return np.flatnonzero(adata.obs[key].astype(str).isin(list(categories)).to_numpy())


def _names(
    adata: Any, labels: Array, n_clusters: int, cells: Array, restrict_to: tuple[str, Sequence[str]] | None
) -> tuple[Array, list[str]]:
    """The name of each cell's cluster, and all names in the order of the clusters."""
    if restrict_to is None:
        return labels.astype(str), [str(k) for k in range(n_clusters)]
    key, categories = restrict_to
    names = adata.obs[key].astype(str).to_numpy(dtype=object).copy()
    prefix = "-".join(categories)
    own = [f"{prefix},{k}" for k in range(n_clusters)]
    names[cells] = np.asarray(own, dtype=object)[labels]
    kept = [str(each) for each in adata.obs[key].astype("category").cat.categories if str(each) not in set(categories)]
    return names, kept + own


def toponymy_clusterer(n_clusters: Any = "auto", **parameters: Any) -> Any:
    """A clusterer for Toponymy: its layers are those of :func:`lapmodes.fit_layers`, the finest first.

    Every text has a topic on every layer: there is no noise.

    Parameters
    ----------
    n_clusters : sequence of int or 'auto', default='auto'
        The numbers of clusters of the layers, as in :func:`lapmodes.fit_layers`.
    **parameters
        Passed on to :func:`lapmodes.fit_layers`, such as ``nested=True`` or ``random_state=0``.

    Returns
    -------
    toponymy.clustering.Clusterer
        To be passed as ``Toponymy(..., clusterer=...)``. After its fit, `layers_` is the
        :class:`lapmodes.Layers` behind it.
    """
    try:
        from toponymy.cluster_layer import ClusterLayerText
        from toponymy.clustering import Clusterer, build_cluster_tree, centroids_from_labels
    except ImportError as error:
        raise ImportError("A clusterer for Toponymy needs Toponymy. Install it with: pip install toponymy") from error

    class LayersClusterer(Clusterer):
        """Layers of Laplacian K-modes."""

        def fit(
            self, clusterable_vectors: Any, embedding_vectors: Any, layer_class: Any = ClusterLayerText, **options: Any
        ) -> Any:
            self.layers_ = fit_layers(clusterable_vectors, n_clusters, **parameters)
            labels = [np.ascontiguousarray(each, dtype=np.int64) for each in self.layers_.labels.T[::-1]]
            vectors = np.ascontiguousarray(embedding_vectors)
            self.cluster_tree_ = build_cluster_tree(labels)
            self.cluster_layers_ = [
                layer_class(each, centroids_from_labels(each, vectors), layer_id=level, **options)
                for level, each in enumerate(labels)
            ]
            return self

        def fit_predict(self, clusterable_vectors: Any, embedding_vectors: Any, *args: Any, **options: Any) -> Any:
            self.fit(clusterable_vectors, embedding_vectors, *args, **options)
            return self.cluster_layers_, self.cluster_tree_

    return LayersClusterer()
