"""A model together with how rows of a file become its points."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .. import load
from .._records import Array
from .._rows import largest_columns, largest_values, scaled_rows
from .base import FileError, Table, existing_file
from .gaps import count_gaps, filled_by_neighbors
from .recipe import Recipe

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
