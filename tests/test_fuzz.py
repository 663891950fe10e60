"""A short run of each target of the fuzzer; ``make fuzz`` runs them for minutes."""

from __future__ import annotations

import pytest

from fuzz.__main__ import Tally, attack, print_tally
from fuzz.harness import BrokenPromiseError, failure_of, generator, shrunk
from fuzz.targets import TARGETS

CASES = {"fits": 60, "select": 8, "layers": 8, "path": 10, "files": 100, "models": 60, "command_line": 2}
SEED = 20_000_000


def test_every_target_has_a_short_run():
    assert set(CASES) == set(TARGETS)


@pytest.mark.parametrize("target", CASES)
def test_no_promise_is_broken(target, tmp_path):
    for seed in range(SEED, SEED + CASES[target]):
        (tmp_path / str(seed)).mkdir()
        found = failure_of(TARGETS[target](generator(target, seed), tmp_path / str(seed)))
        assert found is None, f"python -m fuzz {target} --replay {seed}\n{found[1]}"


class Sum:
    """A case that fails where its number is above 10."""

    def __init__(self, number):
        self.number = number

    def check(self):
        if self.number > 10:
            raise BrokenPromiseError("too large")
        return "small"

    def smaller(self):
        yield Sum(self.number // 2)
        yield Sum(self.number - 1)

    def write(self, folder):
        (folder / "reproduce.py").write_text(str(self.number))


def test_failures_are_made_small():
    kind, trace = failure_of(Sum(1000))
    assert "too large" in kind and "BrokenPromiseError" in trace
    assert shrunk(Sum(1000), kind).number == 11
    assert failure_of(Sum(3)) is None


def test_cases_depend_on_target_and_seed_alone(tmp_path):
    one, two, other = (TARGETS["fits"](generator("fits", seed), tmp_path) for seed in (5, 5, 6))
    assert one.X.tobytes() == two.X.tobytes() and one.X.tobytes() != other.X.tobytes()


def test_the_parent_counts_cases_and_sees_workers_die(tmp_path, monkeypatch, capsys):
    tally = attack("models", 0, 4, float("inf"), tmp_path)
    assert tally.cases == 4 and not tally.failures
    monkeypatch.setattr("sys.executable", "/bin/false")
    tally = attack("models", 7, 1, float("inf"), tmp_path)
    assert tally.failures == [(7, "exit code 1")] and (tmp_path / "models-7" / "what_happened.txt").exists()
    print_tally("models", tally)
    assert "BROKEN 1 times: exit code 1 (seeds 7)" in capsys.readouterr().out
    assert Tally().cases == 0
