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
    Z: Any,
    Z_old: Any,
    WZ_old: Any,
    step: Any,
    momentum: float,
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
    Z: Any,
    stats: Any,
    threads: int,
) -> None: ...
def kernel_values(*points_modes_and_out: Any) -> None: ...
def shift_sums(*points_modes_and_out: Any) -> None: ...
def offer_block(
    inner: Any,
    rows: Any,
    cols: Any,
    row_sqnorm: Any,
    col_sqnorm: Any,
    mutual: bool,
    same: bool,
    sqdist: Any,
    index: Any,
) -> None: ...
def refine_neighbors(X: Any, index: Any, new_sqdist: Any, new_index: Any, threads: int) -> None: ...
def entropic_precisions(d2: Any, perplexity: float, beta: Any, threads: int) -> None: ...
def triad(a: Any, b: Any, c: Any, factor: float, threads: int) -> None: ...
def isa() -> str: ...
def set_isa(name: str) -> None: ...
def max_threads() -> int: ...
