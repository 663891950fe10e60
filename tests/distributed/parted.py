"""Points, and tasks without a cluster, for the tests of distributed fits."""

from __future__ import annotations

import numpy as np

from lapmodes.distributed.cluster import Tasks


def groups(n=3000, K=4, D=8, spread=1.5, seed=0, dtype=np.float32):
    """Overlapping groups of points, and which is which."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    return (rng.normal(scale=spread, size=(K, D))[y] + rng.standard_normal((n, D))).astype(dtype), y


class TasksHere(Tasks):
    """Runs every task at once in this process: what is computed does not depend on who computes it."""

    def run(self, graph, wanted):
        done = {}

        def value(key):
            if key not in done:
                node = graph[key]
                is_node = hasattr(node, "dependencies")
                done[key] = node({each: value(each) for each in node.dependencies}) if is_node else resolved(node)
            return done[key]

        def resolved(argument):
            if isinstance(argument, list):
                return [resolved(each) for each in argument]
            if isinstance(argument, tuple) and argument and callable(argument[0]):
                return argument[0](*map(resolved, argument[1:]))
            is_key = isinstance(argument, tuple) and argument and isinstance(argument[0], str)
            return value(argument) if is_key and argument in graph else argument

        return {key: value(key) for key in wanted}

    def gather(self, futures):
        return list(futures)

    def watch(self, futures, step=lambda n: None):
        for _ in futures:
            step(1)
