"""The folder that ``lapmodes fit`` writes: one file for each thing a person may want next."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..files import PreparedModel
from ..files.atomic import PIPE, file_name
from ..files.formats import TABLE_FORMATS
from ..files.results import sink, write_columns
from ..report.content import ReportContent, points_of, selection_reason, selection_rows
from .config import as_toml, assignments, names
from .run import Outcome, prepared_lines

ARRAYS = (".npy", ".npz", ".mtx", ".h5ad")
GIVEN = {
    "n_clusters": "clusters",
    "lam": "lam",
    "bandwidth": "bandwidth",
    "affinity": "affinity",
    "n_neighbors": "neighbors",
    "metric": "metric",
}
"""Parameters of the estimator and the options that set them."""


def write_all(folder: Path, outcome: Outcome, target: Path, *, report: bool) -> None:
    """Everything about a fit, into a folder that will take the place of the target."""
    suffix = output_suffix(outcome.wish.data)
    write_assignments(folder / f"assignments{suffix}", outcome)
    if suffix in ARRAYS:
        np.save(folder / "labels.npy", outcome.model.labels_, allow_pickle=False)
    table = suffix if suffix in TABLE_FORMATS else ".csv"
    write_columns(folder / f"modes{table}", modes_columns(outcome))
    write_columns(folder / f"exemplars{table}", exemplar_columns(outcome))
    PreparedModel(outcome.model, outcome.recipe).save(folder / "model.npz")
    parameters = as_toml("fit", asdict(outcome.wish) | {"data": lasting(outcome.wish.data)})
    (folder / "parameters.toml").write_text(parameters, encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps(summary(outcome), indent=2) + "\n", encoding="utf-8")
    if report:
        from ..report import write_page

        write_page(folder / "report.html", story(outcome, target))


def story(outcome: Outcome, target: Path) -> ReportContent:
    """The outcome as the report tells it."""
    wish, recipe, table = outcome.wish, outcome.recipe, outcome.table
    graph = table.graph if wish.graph else None
    given = {name for name in GIVEN if getattr(wish, GIVEN[name]) not in (None, "auto", "euclidean")}
    return ReportContent(
        title=f"{outcome.model.n_clusters} clusters in {file_name(wish.data).name}",
        model=outcome.model,
        points=points_of(outcome.model, outcome.points),
        rows=outcome.raw,
        modes=recipe.in_units(outcome.model.cluster_centers_),
        features=recipe.features,
        named=recipe.named,
        image_shape=recipe.image_shape,
        row_names=table.row_names,
        describe=None if table.columns is None else lambda row: described(table.columns, row),
        preparation=tuple(prepared_lines(table, recipe, graph)),
        notes=outcome.notes,
        given=(*given, *assignments(wish.set)),
        selection=outcome.selection,
        agreement={} if outcome.truth is None else agreement(outcome.truth, outcome.model.labels_),
        commands=following(outcome, target),
    )


def following(outcome: Outcome, target: Path) -> tuple[tuple[str, str], ...]:
    """What a person may want to do next, and how."""
    wish = outcome.wish
    again = ["lapmodes", "fit", "--config", str(target / "parameters.toml"), "-o", "AGAIN"]
    new = ["lapmodes", "predict", str(target), f"NEW{output_suffix(wish.data)}"]
    first = ("Put new rows into these clusters", shlex.join(new))
    if outcome.model._trained.needs_cross_graph:
        first = (
            "New rows have no place in the file's graph; for clusters that take them",
            shlex.join([*again, "--no-graph"]),
        )
    return (first, ("Do exactly this again", shlex.join(again)))


def lasting(data: Path) -> str:
    """A path that is right from every folder; a pipe stays one."""
    return str(data if data == PIPE else data.absolute())


def described(columns: Any, row: int) -> list[tuple[str, Any]]:
    """A row as it stands in the file, long lists left out."""
    values = columns.slice(row, 1).to_pylist()[0]
    return [(name, value) for name, value in values.items() if not isinstance(value, (list, dict, bytes))]


def output_suffix(data: Path) -> str:
    """The ending of the input; CSV for a folder of pictures."""
    suffix = data.suffix.lower()
    return suffix if suffix in (*TABLE_FORMATS, *ARRAYS) and not data.is_dir() else ".csv"


def write_assignments(target: Path, outcome: Outcome) -> None:
    """Clusters and soft assignments in the format of the input."""
    model, kept = outcome.model, kept_columns(outcome.table, names(outcome.wish.keep) or [])
    with sink(target, model.n_clusters, row_names=outcome.table.row_names) as out:
        out.write(model.labels_, model.assignments_, kept)


def kept_columns(table: Any, keep: list[str]) -> Any:
    """Columns of the input to copy; the names of rows where a matrix has them."""
    if keep and table.columns is not None:
        return table.columns.select(keep)
    if table.row_names is not None:
        import pyarrow as pa

        return pa.table({"name": list(table.row_names)})
    return None


def modes_columns(outcome: Outcome) -> dict[str, Any]:
    """Each cluster's size and mode in the units of the file."""
    model = outcome.model
    modes = outcome.recipe.in_units(model.cluster_centers_)
    columns: dict[str, Any] = {"cluster": np.arange(model.n_clusters), "rows": sizes(model)}
    return columns | {name: modes[:, i] for i, name in enumerate(outcome.recipe.features)}


def exemplar_columns(outcome: Outcome) -> dict[str, Any]:
    """The row nearest to each mode, as it stands in the file."""
    model, table = outcome.model, outcome.table
    columns: dict[str, Any] = {"cluster": np.arange(model.n_clusters), "row": np.asarray(model.exemplars_) + 1}
    if table.columns is not None:
        chosen = table.columns.take([int(row) for row in model.exemplars_])
        return columns | dict(zip(chosen.column_names, chosen.columns, strict=True)) | columns
    if table.row_names is not None:
        columns["name"] = [table.row_names[i] for i in model.exemplars_]
    rows = outcome.raw[np.asarray(model.exemplars_)]
    rows = rows.toarray() if hasattr(rows, "toarray") else rows
    return columns | {name: rows[:, i] for i, name in enumerate(outcome.recipe.features)}


def sizes(model: Any) -> Any:
    """Rows in each cluster."""
    return np.bincount(model.labels_, minlength=model.n_clusters)


def summary(outcome: Outcome) -> dict[str, Any]:
    """The result in numbers, for other programs."""
    model, selection = outcome.model, outcome.selection
    solution = model.path_[-1].solution
    facts: dict[str, Any] = {
        "lapmodes": __version__,
        "file": file_name(outcome.wish.data).name,
        "rows": outcome.table.n_rows,
        "features": len(outcome.recipe.features),
        "n_clusters": int(model.n_clusters),
        "sizes": sizes(model).tolist(),
        "exemplar_rows": (np.asarray(model.exemplars_) + 1).tolist(),
        "objective": float(model.objective_),
        "gap": float(model.gap_),
        "iterations": int(model.n_iter_),
        "converged": bool(solution.converged),
        "certified": bool(solution.certified),
        "lam": float(model.lam_),
        "bandwidth": "one for each row" if np.ndim(model.bandwidth_) else finite(model.bandwidth_),
        "scaling": outcome.recipe.scaling,
        "left_out_columns": dict(outcome.recipe.dropped),
        "notes": list(outcome.notes),
        "seconds": outcome.seconds,
    }
    if selection is not None:
        header, rows = selection_rows(selection)
        facts["selection"] = {"why": selection_reason(selection), "header": header, "rows": rows}
    if outcome.truth is not None:
        facts["agreement"] = agreement(outcome.truth, model.labels_)
    return facts


def agreement(truth: Any, labels: Any) -> dict[str, float]:
    """How well the clusters match known classes."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    from ..metrics import clustering_accuracy

    return {
        "accuracy": float(clustering_accuracy(truth, labels)),
        "adjusted_rand_index": float(adjusted_rand_score(truth, labels)),
        "normalized_mutual_information": float(normalized_mutual_info_score(truth, labels, average_method="max")),
    }


def finite(value: float) -> float | str:
    """A number that JSON has, or a word for infinity."""
    return float(value) if np.isfinite(value) else "infinite"
