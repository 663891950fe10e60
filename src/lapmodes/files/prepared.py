"""A model together with how rows of a file, or of many files, become its points."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .. import load
from .._records import Array
from .._rows import largest_columns, largest_values, scaled_rows
from .base import FileError, Table, existing_file
from .gaps import count_gaps, filled, filled_by_neighbors
from .recipe import Recipe, learn

RECIPE = "recipe"
"""The note of a saved model that holds the recipe."""


@dataclass(frozen=True)
class PreparedModel:
    """What ``lapmodes fit`` saves: an estimator, and the recipe that turns rows of a file into its points.

    Attributes
    ----------
    model : LaplacianKModes
        The fitted estimator; its points are scaled.
    recipe : Recipe
        Which columns, what becomes of gaps, how columns are scaled.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from lapmodes import LaplacianKModes
    >>> from lapmodes.files import PreparedModel, Table, learn
    >>> table = Table(matrix=np.array([[0.0, 100.0], [0.1, 120.0], [5.0, 900.0], [5.1, 880.0]]))
    >>> recipe, raw, points = learn(table)
    >>> model = LaplacianKModes(2, random_state=0).fit(points)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.npz"
    ...     PreparedModel(model, recipe).save(file)
    ...     PreparedModel.load(file).predict(table).shape
    (4,)
    """

    model: Any
    recipe: Recipe

    def predict_proba(self, table: Table, first_row: int = 0) -> Any:
        """Soft assignments of the rows of a table, in the units of its file.

        A row with gaps is placed by the features that it has, if the model was fitted without such rows: the mean of
        the ten rows of the fit that are most like it fills the gaps. A row without any value has zeros only.

        Parameters
        ----------
        table : Table
            As :func:`lapmodes.files.read` returns it.
        first_row : int, default=0
            Number of its first row in the file, for error messages.
        """
        if self.model.graph_given_:
            raise FileError(
                "This model was fitted on a graph from the file, in which new rows have no place. "
                "Fit with --no-graph to predict new rows."
            )
        X = self.recipe.values(table, first_row)
        empty = count_gaps(X) == X.shape[1]
        Z = self.model.predict_proba(self._points(X, table, first_row))
        return scaled_rows(Z, (~empty).astype(Z.dtype)) if empty.any() else Z

    def predict(self, table: Table) -> Array:
        """Cluster of largest assignment of the rows of a table; -1 for a row without any value.

        Parameters
        ----------
        table : Table
            As :func:`lapmodes.files.read` returns it.
        """
        return labels_of(self.predict_proba(table))

    def _points(self, X: Any, table: Table, first_row: int) -> Any:
        """The rows of a table as points for the model."""
        recipe = self.recipe
        plain = not issparse(X) and recipe.scaling != "unit" and self.model.metric != "cosine"
        if recipe.fill is None or recipe.impute is not None or not plain or not np.isnan(X).any():
            return recipe.apply(table, first_row)
        points = recipe.scaled(X)
        points[np.isnan(X).all(axis=1)] = 0
        return filled_by_neighbors(points, self.model.training_points_)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write both to one `.npz`, without pickle; :func:`lapmodes.load` reads the estimator alone.

        Parameters
        ----------
        file : path
            Written whole or not at all.
        """
        self.model.save(file, notes={RECIPE: self.recipe.to_json()})

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> PreparedModel:
        """Read what :meth:`save` wrote. Nothing in the file can run code.

        Parameters
        ----------
        file : path
            The `.npz` file; one written by ``model.save`` stands for points that need no preparation.
        """
        path = existing_file(Path(file))
        model = load(path)
        try:
            if RECIPE in model.notes_:
                return cls(model, Recipe.from_json(model.notes_[RECIPE]))
        except Exception as error:  # whatever a damaged recipe makes of its parts
            raise FileError(f"The preparation of the data in {str(path)!r} is damaged. Fit again.") from error
        names = getattr(model, "feature_names_in_", None)
        n_features = model.cluster_centers_.shape[1]
        if names is not None:
            return cls(model, Recipe(tuple(map(str, names)), tuple(map(str, names)), (), "none"))
        return cls(model, Recipe(None, tuple(f"column_{i}" for i in range(n_features)), (), "none", named=False))


def labels_of(Z: Any) -> Array:
    """Cluster of largest assignment; -1 where a row has none."""
    return np.where(largest_values(Z) > 0, largest_columns(Z), -1)


# Many files as one: rows that are never all in one place.

SAMPLED_BLOCKS = 16
SAMPLED_ROWS = 100_000
"""A recipe is learnt from so many blocks, and from so many rows of them."""


@dataclass(frozen=True)
class Dataset:
    """Rows of Parquet files, of an NPY file or of a Zarr array, and the recipe that a sample of them gave."""

    source: Any
    """Where the blocks are."""
    recipe: Recipe
    sample: Table
    sample_rows: Array
    """The numbers of the sample's rows."""

    @classmethod
    def of(
        cls,
        path: str,
        tasks: Any,
        *,
        columns: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        scale: str = "auto",
        missing: str = "error",
        impute: str | None = None,
    ) -> Dataset:
        """Look at a sample of the rows: which columns are features, and how they are scaled."""
        from ..distributed.sources import file_source

        source: Any = file_source(path, tasks, every_column=True)
        blocks = np.unique(np.linspace(0, len(source.keys) - 1, SAMPLED_BLOCKS).astype(int)).tolist()
        firsts = np.concatenate([[0], np.cumsum(source.lengths)])
        most, numbers = -(-SAMPLED_ROWS // len(blocks)), []
        for block in blocks:
            size = source.lengths[block]
            chosen = np.random.default_rng(block).choice(size, min(size, most), replace=False)
            numbers.append(firsts[block] + np.sort(chosen))
        rows = np.concatenate(numbers)
        table = rows_of(source, rows)
        recipe, _, _ = learn(table, columns=columns, drop=drop, scale=scale, missing=missing, impute=impute)
        if recipe.spellings:
            raise FileError(f"Column {recipe.spellings[0][0]!r} holds numbers as text, which workers do not read.")
        if recipe.columns is not None:
            source = file_source(path, tasks, recipe.columns)
        return cls(source, recipe, table, rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(sum(self.source.lengths))

    def points(self) -> Any:
        """A lazy array of the points."""
        from ..distributed.parts import lazy_array

        graph, name = dict(self.source.graph), f"{self.source.keys[0][0]}-points"
        for i, key in enumerate(self.source.keys):
            graph[name, i, 0] = (as_points, key, self.recipe)
        dtype = np.float32 if self.recipe.apply(self.sample.take([0])).dtype == np.float32 else np.float64
        return lazy_array(graph, name, self.source.lengths, len(self.recipe.features), dtype, False)

    def rows(self, numbers: Array) -> Table:
        """Some rows as they stand in the files."""
        return rows_of(self.source, numbers)


def as_points(X: Array, recipe: Recipe) -> Array:
    """A block as points: gaps filled, if the recipe says so, and scaled."""
    X = X if recipe.fill is None else filled(X, np.asarray(recipe.fill))
    return np.asarray(recipe.scaled(np.ascontiguousarray(X)))


def rows_of(source: Any, numbers: Array) -> Table:
    """Some rows of a source as they stand in its files, in the order asked for."""
    firsts = np.concatenate([[0], np.cumsum(source.lengths)])
    block = np.searchsorted(firsts, numbers, side="right") - 1
    order = np.argsort(block, kind="stable")
    pieces = []
    for b in np.unique(block).tolist():
        within = numbers[order][block[order] == b] - firsts[b]
        pieces.append(_read_block(source.places[b], within))
    back = np.argsort(order, kind="stable").tolist()
    if pieces[0].columns is None:
        return Table(matrix=np.concatenate([piece.matrix for piece in pieces])[back])
    import pyarrow as pa

    return Table(columns=pa.concat_tables([piece.columns for piece in pieces]).take(back))


def _read_block(place: tuple[str, int, int], rows: Array) -> Table:
    """Some rows of one block."""
    file, first, stop = place
    if file.endswith(".npy"):
        return Table(matrix=np.asarray(np.load(file, mmap_mode="r", allow_pickle=False)[first:stop][rows]))
    if not file.endswith((".parquet", ".pq")) and os.path.isdir(file):
        from ..distributed.sources import read_zarr

        return Table(matrix=read_zarr(file, first, stop)[rows])
    import pyarrow.parquet as pq

    table = pq.ParquetFile(file).read_row_groups(list(range(first, stop)))
    return Table(columns=table.take(rows))
