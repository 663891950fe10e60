"""The pieces of which a distributed fit is made, without a cluster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parted import groups
from scipy.sparse import csr_array

from lapmodes._rows import Message
from lapmodes.distributed.cluster import ClusterError, Size, check_memory, size_of
from lapmodes.distributed.neighbors import answer_asks, find_asks, merge_answers, own_lists
from lapmodes.distributed.parts import Piece, join_pieces, split_block, usual_parts
from lapmodes.distributed.sample import make_cells, pack_cells
from lapmodes.graph.neighbors import make_index


@given(st.integers(1, 40), st.integers(1, 300), st.integers(0, 2**31))
@settings(max_examples=60)
def test_rows_arrive_as_they_were_sent(n, K, seed):
    rng = np.random.default_rng(seed)
    Z = rng.random((n, K)).astype(np.float32) * (rng.random((n, K)) < rng.random())
    places = np.sort(rng.choice(10 * n, n, replace=False))
    message = Message.of(places, csr_array(Z))
    assert np.array_equal(message.places, places) and np.array_equal(message.rows().toarray(), Z)
    assert message.nbytes <= 1.3 * n * K * 4 + 4 * n  # never much more than the dense rows
    assert K < 8 or message.nbytes <= 1.3 * n * K * 4


def test_no_row_of_a_part_is_nearer_than_its_margin():
    X, _ = groups(800, K=6, D=4)
    cells = make_cells(X, 5, seed=0)
    part, margins = cells.parts_of(X), cells.margins(X)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    for p in range(cells.n_parts):
        nearest = distances[:, part == p].min(axis=1)
        assert (margins[:, p] <= nearest + 1e-4).all()
        assert np.allclose(margins[part == p, p], 0)


def test_parts_are_even_and_none_is_empty():
    X, _ = groups(5000, K=7, D=5)
    for n_parts in (1, 2, 8, 16):
        cells = make_cells(X, n_parts, seed=1)
        sizes = np.bincount(cells.parts_of(X), minlength=n_parts)
        assert cells.n_parts == n_parts and sizes.min() > 0 and sizes.max() < 2 * sizes.mean()


def test_duplicates_make_fewer_parts_instead_of_empty_ones():
    X = np.repeat(np.eye(3, dtype=np.float32), 50, axis=0)
    cells = make_cells(X, 8, seed=0)
    assert cells.n_parts <= 3 and np.bincount(cells.parts_of(X)).min() > 0


@pytest.mark.parametrize("n_parts", [2, 5])
def test_linked_cells_are_packed_together(n_parts):
    links = np.kron(np.eye(n_parts), np.ones((4, 4)))
    part = pack_cells(links, np.ones(4 * n_parts), n_parts)
    assert all(np.unique(part[4 * i : 4 * i + 4]).size == 1 for i in range(n_parts)) and np.unique(part).size == n_parts


@pytest.mark.parametrize("D", [3, 20])
def test_neighbours_across_parts_are_those_of_a_whole_search(D):
    X, _ = groups(900, K=5, D=D)
    cells = make_cells(X, 4, seed=0)
    pieces = [piece for _, piece in sorted(split_block(X, None, None, 0, cells).items())]
    parts = [join_pieces([piece, None], merge=True) for piece in pieces]
    starts = np.concatenate([[0], np.cumsum([part.n for part in parts])])
    own = [own_lists(part, int(starts[p]), 7, len(X)) for p, part in enumerate(parts)]
    asks = [find_asks(part, own[p], cells, p, 1.0) for p, part in enumerate(parts)]
    found = []
    for p in range(len(parts)):
        answers = {q: answer_asks(parts[q], int(starts[q]), {p: asks[p][q]}, 7, len(X))[p] for q in asks[p]}
        found.append(merge_answers(own[p], asks[p], answers))
    numbers = np.concatenate([part.row_numbers for part in parts])
    ids, truth = np.concatenate([each.ids for each in found]), make_index(X, 1).query_self(7)
    assert np.array_equal(np.sort(numbers[ids], axis=1), np.sort(truth.indices[numbers], axis=1))


def test_a_part_of_one_row_asks_everyone():
    X = np.array([[0.0], [10.0], [10.5], [11.0]], dtype=np.float32)
    part = join_pieces([Piece(X[:1], np.arange(1), None, None)], merge=True)
    lists = own_lists(part, 0, 2, 4)
    assert (lists.ids == -1).all() and np.isinf(lists.distances).all()
    cells = make_cells(X, 2, seed=0)
    assert set(find_asks(part, lists, cells, int(cells.parts_of(X)[0]), 0.3)) == {1 - int(cells.parts_of(X)[0])}


def test_pieces_keep_numbers_and_weights():
    X, _ = groups(200)
    weight, cells = np.linspace(1, 2, 200).astype(np.float32), make_cells(X, 3, seed=0)
    blocks = [split_block(X[a : a + 100], weight[a : a + 100], None, a, cells) for a in (0, 100)]
    seen = []
    for p in range(cells.n_parts):
        part = join_pieces([block.get(p) for block in blocks], merge=True)
        assert np.array_equal(part.X, X[part.row_numbers]) and np.array_equal(part.weight, weight[part.row_numbers])
        assert (np.diff(part.numbers) > 0).all()
        seen.append(part.numbers)
    assert np.array_equal(np.sort(np.concatenate(seen)), np.arange(200))


def test_number_of_parts_depends_on_the_data_only():
    assert [usual_parts(n, 16, 20) for n in (10, 300_000, 1_000_000, 10_000_000)] == [1, 1, 4, 32]
    assert usual_parts(1_000_000, 1000, 20) > usual_parts(1_000_000, 16, 20)


def test_too_small_clusters_are_refused_before_any_work():
    size = Size(10_000_000, 16, 20, 10, 4)
    check_memory(size, 32, [2_500_000_000] * 4)
    check_memory(size, 32, [0] * 4)  # no limit
    with pytest.raises(ClusterError, match=r"10,000,000 rows need about .* GiB on the workers, but 4 workers"):
        check_memory(size, 32, [600_000_000] * 4)
    with pytest.raises(ClusterError, match=r"one of 2 parts needs about .* Use more parts \(such as parts=4\)"):
        check_memory(size, 2, [2_500_000_000] * 4)


def test_dask_sees_how_large_a_part_is():
    X, _ = groups(100)
    part = join_pieces([Piece(X, np.arange(100), None, None)], merge=True)
    assert size_of(part) >= X.nbytes + part.numbers.nbytes and part.__sizeof__() == size_of(part)
