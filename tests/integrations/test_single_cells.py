"""AnnData and scanpy."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from lapmodes import LaplacianKModes
from lapmodes.tl import laplacian_kmodes

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def cells(vectors):
    anndata = pytest.importorskip("anndata")
    scanpy = pytest.importorskip("scanpy")
    X, y = vectors
    adata = anndata.AnnData(X.astype(np.float32))
    adata.obs_names = [f"cell{i}" for i in range(120)]
    adata.obs["type"] = np.array(["a", "b", "c"])[y]
    adata.obs["type"] = adata.obs["type"].astype("category")
    scanpy.pp.pca(adata, n_comps=5)
    scanpy.pp.neighbors(adata, n_neighbors=10)
    return adata


def test_results_are_where_scanpy_users_look(cells, tmp_path):
    assert laplacian_kmodes(cells, 3) is None
    found = cells.obs["laplacian_kmodes"]
    assert list(found.cat.categories) == ["0", "1", "2"]
    assert adjusted_rand_score(cells.obs["type"], found) == 1
    shares = cells.obsm["laplacian_kmodes_shares"]
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(shares.argmax(axis=1).astype(str), found)
    said = cells.uns["laplacian_kmodes"]
    assert said["params"]["n_clusters"] == 3 and said["params"]["use_rep"] == "X_pca"
    assert set(said["exemplars"]) <= set(cells.obs_names)
    W = cells.obsp["connectivities"]
    direct = LaplacianKModes(3, random_state=0).fit(cells.obsm["X_pca"], graph=W.maximum(W.T))
    np.testing.assert_array_equal(direct.labels_.astype(str), found)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    import anndata

    back = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert back.uns["laplacian_kmodes"]["status"] == said["status"]


def test_copy_leaves_the_cells_alone(cells):
    back = laplacian_kmodes(cells, 3, copy=True, key_added="mine")
    assert "mine" in back.obs and "mine" not in cells.obs and "mine" not in cells.uns


def test_restricted_to_some_categories(cells):
    laplacian_kmodes(cells, 2, restrict_to=("type", ["a", "b"]))
    found = cells.obs["laplacian_kmodes_R"].astype(str)
    assert set(found[cells.obs["type"] == "c"]) == {"c"}
    assert set(found[cells.obs["type"] != "c"]) == {"a-b,0", "a-b,1"}
    assert np.isnan(cells.obsm["laplacian_kmodes_R_shares"][cells.obs["type"] == "c"]).all()


def test_named_neighbours_and_named_graphs_agree(cells):
    import scanpy

    scanpy.pp.neighbors(cells, n_neighbors=6, use_rep="X", key_added="few")
    laplacian_kmodes(cells, 3, neighbors_key="few", key_added="one")
    laplacian_kmodes(cells, 3, obsp="few_connectivities", use_rep="X", key_added="two")
    np.testing.assert_array_equal(cells.obs["one"], cells.obs["two"])
    assert cells.uns["one"]["params"]["use_rep"] == "X"


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"neighbors_key": "none"}, KeyError, "adata.uns has no 'none'. Run scanpy.pp.neighbors first"),
        ({"obsp": "none"}, KeyError, "'obsp' must be a key of adata.obsp"),
        ({"obsp": "connectivities", "neighbors_key": "neighbors"}, ValueError, "Give one of them"),
        ({"use_rep": "none"}, KeyError, "'use_rep' must be 'X' or a key of adata.obsm"),
        ({"restrict_to": ("type", ["z"])}, ValueError, "does not have: \\['z'\\]"),
        ({"restrict_to": ("none", ["a"])}, KeyError, "column of adata.obs"),
    ],
)
def test_bad_input_is_named(cells, options, error, match):
    with pytest.raises(error, match=match):
        laplacian_kmodes(cells, 3, **options)
    with pytest.raises(TypeError, match=r"'adata' must be an AnnData object. Got ndarray"):
        laplacian_kmodes(np.zeros((3, 3)), 3)
