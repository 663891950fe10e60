"""The folder that ``lapmodes fit`` writes: one file for each thing a person may want next."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from .. import Layers, __version__
from .._records import Array
from .._rows import scaled_rows
from ..files import PreparedModel
from ..files.atomic import PIPE, file_name
from ..files.base import counted
from ..files.columns import arrow_array, is_nested
from ..files.formats import MATRIX_FORMATS, TABLE_FORMATS
from ..files.prepared import labels_of
from ..files.results import sink, write_columns
from ..metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info
from ..report.content import ReportContent, cluster_names, points_of, selection_reason, selection_rows
from .fitting import FitRun, preparation_lines
from .options import column_list, further_parameters, to_toml

if TYPE_CHECKING:
    from .fit import ClusterRun

OPTION_OF = {
    "n_clusters": "clusters",
    "lam": "lam",
    "bandwidth": "bandwidth",
    "affinity": "affinity",
    "n_neighbors": "neighbors",
    "metric": "metric",
}
"""Parameters of the estimator and the options that set them."""
FEW_VALUES = 30
"""Columns that are not used with at most so many different values describe the clusters."""
NO_VALUE = "no value"


def write_folder(folder: Path, run: FitRun, target: Path, *, report: bool, watch: Any = None) -> None:
    """Everything about a fit, into a folder that will take the place of the target."""
    suffix = output_suffix(run.options.data)
    labels, shares = all_assignments(run, run.model)
    write_assignments(folder / f"assignments{suffix}", run, labels, shares)
    if suffix in MATRIX_FORMATS:
        np.save(folder / "labels.npy", labels, allow_pickle=False)
    table = suffix if suffix in TABLE_FORMATS else ".csv"
    plain = run.options.no_formulas
    write_columns(folder / f"modes{table}", modes_columns(run), no_formulas=plain)
    write_columns(folder / f"exemplars{table}", exemplar_columns(run), no_formulas=plain)
    if run.layers is not None:
        write_columns(folder / f"levels{table}", level_columns(run, run.layers))
        write_columns(folder / f"tree{table}", tree_columns(run, run.layers))
    PreparedModel(run.model, run.recipe).save(folder / "model.npz")
    write_record(folder, "fit", asdict(run.options) | {"data": lasting_path(run.options.data)}, summary(run))
    if report:
        from ..report import write_page

        write_page(folder / "report.html", report_content(run, target), watch)


def write_record(folder: Path, command: str, options: dict[str, Any], facts: dict[str, Any]) -> None:
    """What was asked for, to run it again, and what came out, for other programs."""
    (folder / "parameters.toml").write_text(to_toml(command, options), encoding="utf-8")
    text = json.dumps({"lapmodes": __version__} | facts, indent=2)
    (folder / "summary.json").write_text(text + "\n", encoding="utf-8")


def report_content(run: FitRun, target: Path) -> ReportContent:
    """What the report shows of a run."""
    options, recipe, table, rows = run.options, run.recipe, run.table, run.rows
    given = {name for name in OPTION_OF if getattr(options, OPTION_OF[name]) not in (None, "auto", "euclidean")}
    return ReportContent(
        title=f"{counted(run.model.n_clusters_, 'cluster')} in {file_name(options.data).name}",
        model=run.model,
        points=points_of(run.model, run.points),
        rows=run.raw,
        modes=recipe.in_units(run.model.cluster_centers_),
        features=recipe.features,
        named=recipe.named,
        image_shape=recipe.image_shape,
        row_names=fitted_names(run),
        names=cluster_names(run.model),
        describe=None if table.columns is None else lambda row: row_values(table.columns, int(rows[row])),
        preparation=(*preparation_lines(run), *recipe.reasons[1:]),
        notes=(*recipe.doubts, *run.notes),
        given=(*given, *further_parameters(options.set)),
        selection=run.selection,
        layers=run.layers,
        agreement={} if run.truth is None else agreement(run),
        described_by=describing_columns(run),
        commands=next_commands(run, target),
    )


def fitted_names(run: FitRun) -> tuple[str, ...] | None:
    """What the rows of the fit are called; None if each is called by its number."""
    names, rows = run.table.row_names, run.rows
    if names is not None:
        return tuple(names[row] for row in rows)
    return tuple(f"row {row + 1:,}" for row in rows) if rows.size < run.table.n_rows else None


def describing_columns(run: FitRun) -> dict[str, list[str]]:
    """Columns that are not used and have few different values, and that of the known classes: a value for each row."""
    used, found = run.recipe.columns, {}
    if used is None:
        return {}
    for name in (name for name in run.table.columns.column_names if name not in used):
        column = run.table.columns.column(name).take(arrow_array(run.rows))
        if name == run.options.truth or (not is_nested(column.type) and len(column.unique()) <= FEW_VALUES):
            values = ("" if value is None else str(value).strip() for value in column.to_pylist())
            found[name] = [value or NO_VALUE for value in values]
    return {name: values for name, values in found.items() if len(set(values)) > 1}


def next_commands(run: FitRun, target: Path) -> tuple[tuple[str, str], ...]:
    """What a person may want to do next, and how."""
    again = ["lapmodes", "fit", "--config", str(target / "parameters.toml"), "-o", "AGAIN"]
    new = ["lapmodes", "predict", str(target), f"NEW{output_suffix(run.options.data)}"]
    first = ("Put new rows into these clusters", shlex.join(new))
    if run.model.graph_given_:
        first = (
            "New rows have no place in the file's graph; for clusters that take them",
            shlex.join([*again, "--no-graph"]),
        )
    return (first, ("Do exactly this again", shlex.join(again)))


def lasting_path(data: Path) -> str:
    """A path that is right from every folder; a pipe stays one."""
    return str(data if data == PIPE else data.absolute())


def row_values(columns: Any, row: int) -> list[tuple[str, Any]]:
    """A row as it stands in the file, long lists left out."""
    values = columns.slice(row, 1).to_pylist()[0]
    return [(name, value) for name, value in values.items() if not isinstance(value, (list, dict, bytes))]


def output_suffix(data: Path) -> str:
    """The ending of the input; CSV for a folder of pictures."""
    suffix = data.suffix.lower()
    return suffix if suffix in (*TABLE_FORMATS, *MATRIX_FORMATS) and not data.is_dir() else ".csv"


def write_assignments(target: Path, run: FitRun, labels: Array, shares: Any) -> None:
    """Clusters and soft assignments in the format of the input."""
    kept = kept_columns(run.table, column_list(run.options.keep))
    names, gaps, plain = cluster_names(run.model), bool(run.gaps.any()), run.options.no_formulas
    rows = run.table.row_names
    with sink(target, run.model.n_clusters_, row_names=rows, gaps=gaps, names=names, no_formulas=plain) as out:
        out.write(labels, shares, kept, run.gaps)


def all_assignments(run: FitRun, model: Any) -> tuple[Array, Any]:
    """Cluster and shares of every row of the file: those left out of the fit are put into the clusters by the model."""
    rest, labels, shares = run.rows_left_out, model.labels_, model.assignments_
    if run.left_out is not None:
        labels, shares = run.labels, scaled_rows(shares, (~run.left_out).astype(shares.dtype))
    if rest.size == 0:
        return labels, shares
    Z = PreparedModel(model, run.recipe).predict_proba(run.table.take(rest.tolist()))
    order = np.argsort(np.concatenate([run.rows, rest]))
    both = vstack([shares, Z]) if issparse(Z) else np.concatenate([shares, Z])
    return np.concatenate([labels, labels_of(Z)])[order], csr_array(both)[order] if issparse(Z) else both[order]


def kept_columns(table: Any, keep: list[str]) -> Any:
    """Columns of the input to copy; the names of rows where a matrix has them."""
    if keep and table.columns is not None:
        return table.columns.select(keep)
    if table.row_names is not None:
        import pyarrow as pa

        return pa.table({"name": list(table.row_names)})
    return None


def level_columns(run: FitRun, layers: Layers) -> dict[str, Any]:
    """The cluster of each row of the file on each level."""
    return {f"cluster_of_{model.n_clusters_}": all_assignments(run, model)[0] for model in layers.models}


def tree_columns(run: FitRun, layers: Layers) -> dict[str, Any]:
    """The clusters of all levels from the top of the tree down; ids and exemplars are rows of the file, from 1."""
    tree = layers.table
    columns: dict[str, Any] = {name: tree[name] for name in ("n_clusters", "cluster", "parent", "size")}
    columns["id"] = np.where(tree["size"] > 0, run.rows[tree["id"]] + 1, 0)
    return columns | {"exemplar": run.rows[tree["exemplar"]] + 1}


def modes_columns(run: FitRun) -> dict[str, Any]:
    """Each cluster's size and mode in the units of the file."""
    model = run.model
    modes = run.recipe.in_units(model.cluster_centers_)
    columns: dict[str, Any] = numbered_clusters(model) | {"rows": cluster_sizes(run)}
    return columns | {name: modes[:, i] for i, name in enumerate(run.recipe.features)}


def exemplar_columns(run: FitRun) -> dict[str, Any]:
    """The row nearest to each mode, as it stands in the file."""
    model, table, exemplars = run.model, run.table, exemplar_rows(run)
    columns: dict[str, Any] = numbered_clusters(model) | {"row": exemplars + 1}
    if table.columns is not None:
        chosen = flat_columns(table.columns).take(exemplars.tolist())
        return columns | dict(zip(chosen.column_names, chosen.columns, strict=True)) | columns
    if table.row_names is not None:
        columns["name"] = [table.row_names[row] for row in exemplars]
    rows = run.raw[np.asarray(model.exemplars_)]
    rows = rows.toarray() if hasattr(rows, "toarray") else rows
    return columns | {name: rows[:, i] for i, name in enumerate(run.recipe.features)}


def flat_columns(columns: Any) -> Any:
    """The columns that every format can hold: no lists and no records."""
    from pyarrow import types

    return columns.select(
        [name for name in columns.column_names if not types.is_nested(columns.schema.field(name).type)]
    )


def exemplar_rows(run: FitRun) -> Any:
    """Which row of the file is nearest to each mode."""
    return run.rows[np.asarray(run.model.exemplars_)]


def numbered_clusters(model: Any) -> dict[str, Any]:
    """The number of each cluster, and its name where any has one."""
    names = cluster_names(model)
    numbers: dict[str, Any] = {"cluster": np.arange(model.n_clusters_)}
    return numbers | ({"cluster_name": list(names)} if any(names) else {})


def cluster_sizes(run: FitRun) -> Any:
    """Rows of the fit in each cluster."""
    return np.bincount(run.labels[run.labels >= 0], minlength=run.model.n_clusters_)


def summary(run: FitRun) -> dict[str, Any]:
    """The result in numbers, for other programs."""
    model, selection = run.model, run.selection
    facts: dict[str, Any] = {
        "file": file_name(run.options.data).name,
        "rows": run.table.n_rows,
        "features": len(run.recipe.features),
        "n_clusters": int(model.n_clusters_),
        "sizes": cluster_sizes(run).tolist(),
        "exemplar_rows": (exemplar_rows(run) + 1).tolist(),
        "objective": float(model.objective_),
        "gap": float(model.gap_),
        "iterations": int(model.n_iter_),
        "status": model.status_,
        "lam": float(model.lam_),
        "bandwidth": "one for each row" if np.ndim(model.bandwidth_) else finite(model.bandwidth_),
        "scaling": run.recipe.scaling,
        "scaling_reasons": list(run.recipe.reasons),
        "left_out_columns": dict(run.recipe.dropped),
        "rows_of_the_fit": int(run.rows.size),
        "rows_with_gaps": (np.flatnonzero(run.gaps) + 1).tolist(),
        "preparation": preparation_lines(run),
        "notes": [*run.recipe.doubts, *run.notes],
        "seconds": run.seconds,
    }
    if any(names := cluster_names(model)):
        facts["cluster_names"] = list(names)
    if run.left_out is not None:
        facts["rows_left_out_by_hand"] = (run.rows[run.left_out] + 1).tolist()
    if selection is not None:
        header, rows = selection_rows(selection)
        facts["selection"] = {"why": selection_reason(selection), "header": header, "rows": rows}
    if run.layers is not None:
        facts["levels"] = {"n_clusters": run.layers.n_clusters, "in_parent": run.layers.consistency.tolist()}
    if run.truth is not None:
        facts["agreement"] = agreement(run)
    return facts


def agreement(run: FitRun) -> dict[str, float]:
    """How well the clusters match the known classes, on the rows of the fit that have one."""
    assert run.truth is not None
    truth = run.truth[run.rows]
    truth, labels = truth[truth >= 0], run.model.labels_[truth >= 0]
    if truth.size == 0:
        return {}
    return {
        "accuracy": clustering_accuracy(truth, labels),
        "adjusted_rand_index": adjusted_rand(truth, labels),
        "normalized_mutual_information": normalized_mutual_info(truth, labels),
    }


def finite(value: float) -> float | str:
    """A number that JSON has, or a word for infinity."""
    return float(value) if np.isfinite(value) else "infinite"


# Many rows on workers.

REPORT_ROWS = 20_000
"""Rows that the report of many shows."""


def write_dataset(folder: Path, run: ClusterRun, *, report: bool, watch: Any = None) -> None:
    """Labels as a partitioned dataset, modes, exemplars, the model, a record, and a report of a sample of the rows."""
    model, dataset, recipe = run.model, run.dataset, run.dataset.recipe
    (folder / "labels").mkdir()
    model.write_labels(folder / "labels")
    clusters: dict[str, Any] = {"cluster": np.arange(model.n_clusters_), "rows": model.sizes_}
    modes = recipe.in_units(model.cluster_centers_)
    write_columns(folder / "modes.parquet", clusters | {name: modes[:, i] for i, name in enumerate(recipe.features)})
    values = recipe.values(dataset.rows(model.exemplars_))
    exemplars = {"cluster": clusters["cluster"], "row": model.exemplars_ + 1}
    write_columns(
        folder / "exemplars.parquet", exemplars | {name: values[:, i] for i, name in enumerate(recipe.features)}
    )
    save_dataset_model(folder, run)
    options = asdict(run.options) | {"data": lasting_path(run.options.data)}
    write_record(folder, "fit", options | asdict(run.cluster), dataset_summary(run))
    if report:
        from ..report import write_page

        write_page(folder / "report.html", sample_content(run, folder), watch)


def save_dataset_model(folder: Path, run: ClusterRun) -> None:
    """One file that ``lapmodes predict`` takes, if the model fits into memory here; else a folder and the recipe."""
    if run.model.fits_here():
        PreparedModel(run.model.gather(), run.dataset.recipe).save(folder / "model.npz")
        return
    run.model.save(folder / "model", partitioned=True)
    (folder / "recipe.json").write_text(run.dataset.recipe.to_json() + "\n", encoding="utf-8")


def dataset_summary(run: ClusterRun) -> dict[str, Any]:
    """The result in numbers, for other programs."""
    model, recipe = run.model, run.dataset.recipe
    return {
        "file": str(run.options.data),
        "rows": model.n_samples_,
        "features": model.n_features_in_,
        "n_clusters": model.n_clusters_,
        "sizes": model.sizes_.tolist(),
        "exemplar_rows": (model.exemplars_ + 1).tolist(),
        "objective": float(model.objective_),
        "gap": float(model.gap_),
        "iterations": int(model.n_iter_),
        "status": model.status_,
        "lam": float(model.lam_),
        "scaling": recipe.scaling,
        "scaling_reasons": list(recipe.reasons),
        "left_out_columns": dict(recipe.dropped),
        "preparation": run.lines,
        "notes": run.notes,
        "parts": model.n_parts_,
        "halo_rows_a_row": model.halo_share_,
    }


def sample_content(run: ClusterRun, target: Path) -> ReportContent:
    """What the report shows of a sample of the rows, the exemplars among them."""
    dataset, model, recipe = run.dataset, run.model, run.dataset.recipe
    some = dataset.sample_rows
    some = some[:: max(1, -(-some.size // REPORT_ROWS))]
    rows = np.unique(np.concatenate([some, model.exemplars_]))
    table = dataset.rows(rows)
    shown = FitRun(
        options=run.options,
        table=table,
        recipe=recipe,
        raw=recipe.values(table),
        points=recipe.apply(table),
        gaps=np.zeros(rows.size, dtype=np.int64),
        graph=None,
        truth=None,
        model=model.gather(rows),
        selection=None,
    )
    note = f"The report shows {rows.size:,} of {model.n_samples_:,} rows; sizes and shares are theirs."
    return replace(report_content(shown, target), preparation=(*run.lines, note), notes=(note, *run.notes))
