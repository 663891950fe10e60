from typing import Any

BLOCK_ROWS: int
LANES_FLOAT32: int
LANES_FLOAT64: int

def project_rows(V: Any, threads: int) -> None: ...
def sweep(
    indptr: Any,
    indices: Any,
    weights: Any,
    diagonal: Any,
    B: Any,
    lam: float,
    masses: Any,
    Z: Any,
    Z_old: Any,
    WZ_old: Any,
    step: Any,
    momentum: float,
    touched: Any,
    told: Any,
    number: int,
    since: int,
    shares: Any,
    stats: Any,
    threads: int,
) -> None: ...
def certify(
    indptr: Any,
    indices: Any,
    weights: Any,
    diagonal: Any,
    B: Any,
    lam: float,
    masses: Any,
    Z: Any,
    stats: Any,
    threads: int,
) -> None: ...
def spreads(B: Any, sums: Any, threads: int) -> None: ...
def masses(degrees: Any, Z: Any, sums: Any, threads: int) -> None: ...
def kernel_values(*points_modes_and_out: Any) -> None: ...
def map_points(
    X: tuple[Any, ...],
    cross: tuple[Any, ...],
    Z: tuple[Any, ...],
    n_train: int,
    modes_t: Any,
    mode_sqnorm: Any,
    h: Any,
    squared: bool,
    lam: float,
    sample_weight: Any,
    degrees: Any,
    masses: Any,
    share: Any,
    out: Any,
    threads: int,
) -> None: ...
def shift_sums(*points_modes_and_out: Any) -> None: ...
def compare_groups(
    Q: Any,
    q_order: Any,
    q_starts: Any,
    X: Any,
    order: Any,
    starts: Any,
    pairs: Any,
    same: bool,
    sqdist: Any,
    index: Any,
    threads: int,
) -> None: ...
def refine_neighbors(X: Any, index: Any, new_sqdist: Any, new_index: Any, threads: int) -> None: ...
def gaussian_weights(
    indices: Any, distances: Any, own: Any, other: Any, relative: bool, weights: Any, threads: int
) -> None: ...
def entropic_precisions(distances: Any, perplexity: float, beta: Any, threads: int) -> None: ...
def triad(a: Any, b: Any, c: Any, factor: float, threads: int) -> None: ...
def isa() -> str: ...
def set_isa(name: str) -> None: ...
def max_threads() -> int: ...
def cluster_degrees(indptr: Any, indices: Any, weights: Any, labels: Any, degree: Any, within: Any) -> None: ...
def stable_order(values: Any, order: Any) -> None: ...
def fresh_edges(index: Any, fresh: Any) -> None: ...
def prominent_modes(from_: Any, to: Any, saddle: Any, height: Any, K: int, mass_power: float, labels: Any) -> None: ...
def even_linkage(from_: Any, to: Any, K: int, most_uneven: float, labels: Any) -> None: ...
def spanning_forest(from_: Any, to: Any, kept: Any, labels: Any) -> None: ...
def shared_neighbors(around: Any, indptr: Any, indices: Any, common: Any) -> None: ...
def leiden(indptr: Any, indices: Any, weights: Any, resolution: float, rounds: int, seed: int, labels: Any) -> int: ...
def keep_largest(B: Any, column: Any, value: Any, bound: Any, least: Any, threads: int) -> None: ...
def sparse_term(*points_modes_and_entries: Any) -> Any: ...
def sparse_sweep(*graph_term_and_rows: Any) -> int: ...
def shift_clusters(*points_modes_and_out: Any) -> None: ...
