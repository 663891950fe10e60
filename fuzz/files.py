"""Files of every kind that is read, mutated: each is refused in a sentence, or its rows are what a fit can use."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.sparse import issparse

from .corpus import CORPUS, model
from .harness import only_documented_warnings, refusal, require
from .mutations import mutated
from .promises import check_model, check_new_points
from .values import Rng


@dataclass(frozen=True)
class File:
    """One file for a reader."""

    path: Path

    def check(self) -> str:
        """Read it whole and in pieces, and make points of its rows as a fit does."""
        from lapmodes.files import FileError

        try:
            with quiet():
                table, pieces = self.read()
        except FileError as error:
            return f"{self.path.name} refused: {' '.join(refusal(error).replace(str(self.path), '').split()[:6])}"
        require(pieces in (None, table.n_rows), "the pieces have other rows than the whole")
        try:
            with quiet():
                self.learn(table)
        except ValueError as error:
            refusal(error)
            return f"{self.path.name} read, and refused as data"
        return f"{self.path.name} read"

    def read(self):
        """The table, touched everywhere, and how many rows its pieces have."""
        from lapmodes.files import Reading, batches, read
        from lapmodes.files.base import Table
        from lapmodes.files.formats import is_picture
        from lapmodes.files.matrices import read_pixels

        if is_picture(self.path):
            return Table(matrix=read_pixels(self.path).reshape(-1, 1)), None
        table = read(self.path)
        if table.columns is not None:
            table.columns.to_pydict()
        elif issparse(table.matrix):
            (table.matrix @ np.ones(table.matrix.shape[1])).sum()
        else:
            np.asarray(table.matrix).sum()
        text = self.path.suffix in (".csv", ".tsv", ".gz", ".zip")
        return table, None if text else sum(piece.n_rows for piece in batches(self.path, Reading(), None))

    def learn(self, table) -> None:
        """Rows become points, which are finite numbers."""
        from lapmodes.files import learn

        _, _, points = learn(table)
        values = points.data if issparse(points) else points
        require(bool(np.isfinite(values).all()), "points that are no finite numbers")

    def smaller(self) -> Iterator[File]:
        """Files are small already."""
        yield from ()

    def write(self, folder: Path) -> None:
        """The file, and how to read it."""
        (folder / self.path.name).write_bytes(self.path.read_bytes())
        lines = ["from pathlib import Path", "from fuzz.files import File", f"File(Path({self.path.name!r})).check()"]
        (folder / "reproduce.py").write_text("\n".join(lines) + "\n")


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of other packages about a file: a user of the command line never sees them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def draw(rng: Rng, folder: Path) -> File:
    """A mutated file of a random kind."""
    names = [name for name in CORPUS if name != "x.h5ad" or find_spec("anndata")]
    name = names[int(rng.integers(len(names)))]
    path = folder / name
    path.write_bytes(mutated(rng, CORPUS[name](rng)) or b" ")
    return File(path)


@dataclass(frozen=True)
class Model:
    """One model file."""

    path: Path

    def check(self) -> str:
        """Load it; if that works, everything that it says is finite and on the simplex."""
        import lapmodes

        try:
            loaded = lapmodes.load(self.path)
        except ValueError as error:
            return f"refused: {' '.join(refusal(error).replace(str(self.path), '').split()[1:7])}"
        d = loaded.cluster_centers_.shape[1]
        with only_documented_warnings():
            check_model(loaded, loaded.assignments_.shape[0], d, bandwidth=np.inf, descends=False)
            if not loaded.graph_given_:
                check_new_points(loaded, np.zeros((2, d)) + 0.5)
        return "loaded"

    def smaller(self) -> Iterator[Model]:
        """Models are small already."""
        yield from ()

    def write(self, folder: Path) -> None:
        """The file, and how to load it."""
        (folder / self.path.name).write_bytes(self.path.read_bytes())
        lines = ["from pathlib import Path", "from fuzz.files import Model", f"Model(Path({self.path.name!r})).check()"]
        (folder / "reproduce.py").write_text("\n".join(lines) + "\n")


def draw_model(rng: Rng, folder: Path) -> Model:
    """A mutated model file."""
    path = folder / "model.npz"
    path.write_bytes(mutated(rng, model(rng)) or b" ")
    return Model(path)
