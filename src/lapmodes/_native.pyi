"""The hot loops. Arguments that a function writes are marked OUT (or IN/OUT); the caller allocates them."""

from typing import Any

BLOCK_ROWS: int
LANES_FLOAT32: int
LANES_FLOAT64: int

# Points are (X,) or (indptr, indices, values, sqnorm, d); a CSR matrix in a tuple is (indptr, indices, values).
_Arrays = tuple[Any, ...]

# graph
def compare_groups(
    Q: Any,
    q_order: Any,
    q_starts: Any,
    X: Any,
    order: Any,
    starts: Any,
    pairs: Any,
    same: bool,
    sqdist: Any,  # IN/OUT
    index: Any,  # IN/OUT
    closed: Any,
    threads: int,
) -> None: ...
def pick_neighbors(
    Q: Any,
    X: Any,
    candidates: Any,
    expand: bool,
    sqdist: Any,  # OUT
    index: Any,  # OUT
    threads: int,
) -> None: ...
def gaussian_weights(
    indices: Any,
    distances: Any,
    own_widths: Any,
    other_widths: Any | None,
    normalized: bool,
    weights: Any,  # OUT
    threads: int,
) -> None: ...
def entropic_precisions(
    distances: Any,
    perplexity: float,
    beta: Any,  # OUT
    threads: int,
) -> None: ...
def stable_order(
    values: Any,
    order: Any,  # OUT
) -> None: ...
def row_keys(*arrays: Any) -> None: ...
def first_listed_edges(
    index: Any,
    first: Any,  # OUT
) -> None: ...
def shared_neighbors(
    neighbors: Any,
    indptr: Any,
    indices: Any,
    counts: Any,  # OUT
) -> None: ...
def components(
    indptr: Any,
    indices: Any,
    labels: Any,  # OUT
) -> None: ...
def spanning_forest(
    from_: Any,
    to: Any,
    kept: Any,  # OUT
    labels: Any,  # OUT
) -> None: ...

# start
def leiden(
    indptr: Any,
    indices: Any,
    weights: Any,
    resolution: float,
    rounds: int,
    seed: int,
    labels: Any,  # IN/OUT
) -> int: ...
def cluster_degrees(
    indptr: Any,
    indices: Any,
    weights: Any,
    labels: Any,
    degree: Any,  # IN/OUT
    within: Any,  # IN/OUT
) -> None: ...
def density_modes(
    from_: Any,
    to: Any,
    saddle: Any,
    density: Any,
    sizes: Any,
    K: int,
    mass_power: float,
    labels: Any,  # OUT
) -> None: ...
def even_linkage(
    from_: Any,
    to: Any,
    sizes: Any,
    K: int,
    max_gini: float,
    labels: Any,  # OUT
) -> None: ...

# solve
def project_rows(
    V: Any,  # IN/OUT
    threads: int,
) -> None: ...
def sweep(
    indptr: Any,
    indices: Any,
    weights: Any,
    diagonal: Any,
    B: Any,
    lam: float,
    Z: Any,
    Z_old: Any,  # IN/OUT
    WZ_old: Any,  # IN/OUT
    step: Any,
    momentum: float,
    changed_at: Any,  # IN/OUT
    announced_at: Any,  # IN/OUT
    sweep_number: int,
    sweeps_since_stats: int,
    row_stats: Any,  # IN/OUT
    stats: Any,  # OUT
    threads: int,
) -> None: ...
def certify(
    indptr: Any,
    indices: Any,
    weights: Any,
    diagonal: Any,
    B: Any,
    lam: float,
    Z: Any,
    stats: Any,  # OUT
    threads: int,
) -> None: ...
def row_ranges(
    B: Any,
    sums: Any,  # OUT
    threads: int,
) -> None: ...
def kernel_values(
    points: _Arrays,
    modes_t: Any,
    mode_sqnorm: Any,
    h: Any,
    squared: bool,
    B: Any,  # OUT
    threads: int,
) -> None: ...
def count_members(
    Z: Any,
    counts: Any,  # OUT
    threads: int,
) -> None: ...
def list_members(
    Z: Any,
    next: Any,  # IN/OUT
    rows: Any,  # OUT
    values: Any,  # OUT
    threads: int,
) -> None: ...
def mean_shift_sums(
    points: _Arrays,
    indptr: Any,
    rows: Any,
    values: Any,
    pieces: Any,
    modes: Any,
    mode_sqnorm: Any,
    h: Any,
    peak: Any,  # OUT
    mass: Any,  # OUT
    value: Any,  # OUT
    sums: Any,  # OUT
    threads: int,
) -> None: ...
def map_points(
    points: _Arrays,
    cross: _Arrays,
    Z: _Arrays,
    n_train: int,
    modes_t: Any,
    mode_sqnorm: Any,
    h: Any,
    squared: bool,
    lam: float,
    sample_weight: Any | None,
    degrees: Any | None,
    scaled_weights: Any,  # OUT
    out: Any,  # OUT
    threads: int,
) -> None: ...

# solve, for many clusters; rows of assignments are (count, column, value)
def keep_largest(
    B: Any,
    column: Any,  # OUT
    value: Any,  # OUT
    bound: Any,  # OUT
    least: Any,  # OUT
    threads: int,
) -> None: ...
def sparse_term(
    points: _Arrays,
    modes: Any,
    mode_sqnorm: Any,
    h: Any,
    squared: bool,
    sample_weight: Any | None,
    prior: _Arrays | None,
    column: Any,
    value: Any,
    bound: Any,
) -> Any: ...
def sparse_sweep(
    indptr: Any,
    indices: Any,
    weights: Any,
    diagonal: Any,
    term: Any,
    lam: float,
    slack: float,
    start: Any,
    Z: _Arrays,
    Z_old: _Arrays,
    Z_next: _Arrays | None,  # OUT
    step: Any | None,
    momentum: float,
    stats: Any,  # OUT
    threads: int,
) -> int: ...

# the module
def isa() -> str: ...
def set_isa(name: str) -> None: ...
def max_threads() -> int: ...
def triad(
    a: Any,  # OUT
    b: Any,
    c: Any,
    factor: float,
    threads: int,
) -> None: ...
def add_pixels(
    xy: Any,
    codes: Any,
    palette: Any,
    ranges: Any,
    left: float,
    top: float,
    across: float,
    down: float,
    dot: int,
    sums: Any,  # IN/OUT
) -> int: ...
def halve_pixels(
    sums: Any,
    half: Any,  # OUT
) -> None: ...
def shade_pixels(
    sums: Any,
    line: int,
    column: int,
    faintest: float,
    picture: Any,  # OUT
) -> None: ...
