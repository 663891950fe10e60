"""The explorer: look at a clustering, turn its knobs and mend it, in the browser.

The module can be called: ``lapmodes.explore(model, X)``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .server import Running

HEIGHT = 860
"""Of the frame in a notebook."""


class Exploration:
    """A running explorer; a notebook shows it in a frame. The attributes follow what is done in the page."""

    def __init__(self, server: Running) -> None:
        self._server = server

    @property
    def url(self) -> str:
        """The address of the page."""
        return self._server.url

    @property
    def model(self) -> Any:
        """The fitted model of the state in effect, with its `cluster_names_`."""
        from copy import copy

        state = self._server.explorer.state
        model = copy(state.model)
        model.cluster_names_ = state.names
        return model

    @property
    def labels(self) -> Any:
        """The cluster of each row; -1 for rows that were left out."""
        return self._server.explorer.state.labels

    @property
    def acts(self) -> list[Any]:
        """What was done, in order."""
        session = self._server.explorer.session
        return session.acts[: session.done]

    def close(self) -> None:
        """End the server."""
        self._server.close()

    def __repr__(self) -> str:
        return f"Exploration at {self.url}"

    def _repr_html_(self) -> str:
        frame = f'src="{escape(self.url)}" width="100%" height="{HEIGHT}"'
        return f'<iframe {frame} title="lapmodes explorer" style="border: 0"></iframe>'


def explore(
    model: Any,
    X: Any,
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
    described_by: Mapping[str, Sequence[Any]] | None = None,
    folder: str | Path | None = None,
    port: int = 0,
) -> Exploration:
    """Explore a fitted model in the browser, or in a frame of a notebook.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted
        The model; it is left as it is.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        The rows that it was fitted on.
    title : str, optional
        Heading of the page.
    feature_names : sequence of str, optional
        Names of the columns; those of a data frame by default.
    image_shape : tuple, optional
        (height, width) or (height, width, 3) where each row is a picture.
    described_by : mapping or data frame, optional
        Columns that the fit did not use, with a value for each row.
    folder : path, optional
        Where the journal and what is saved go; without, nothing is written.
    port : int, default=0
        Of the server, on this machine only; 0 is a free one.

    Returns
    -------
    Exploration
        With the attributes `url`, `model`, `labels` and `acts`, and the method `close`.
    """
    from .server import Running
    from .study import study_of
    from .worker import Explorer

    study = study_of(
        model,
        X,
        None if folder is None else Path(folder),
        title=title,
        feature_names=feature_names,
        image_shape=image_shape,
        described_by=described_by,
    )
    server = Running(lambda: Explorer(study), study.title, port, framed=True)
    server.start()
    return Exploration(server)


class _CallableModule(ModuleType):
    """So that `lapmodes.explore` is the function, however it was imported."""

    def __call__(self, model: Any, X: Any, **options: Any) -> Exploration:
        """See :func:`lapmodes.explore.explore`."""
        return explore(model, X, **options)


sys.modules[__name__].__class__ = _CallableModule
