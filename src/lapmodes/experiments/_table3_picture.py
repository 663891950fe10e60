"""The picture of table 3: every restart as a dot, the published figure as a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..plotting import FRAME, PALETTE, _matplotlib
from ._contestants import CONTESTANTS, OURS
from ._exhibit import Picture


def draw(entries: Sequence[Any]) -> Picture:
    """A panel for each data set and measure."""
    sets = list(dict.fromkeys(entry.data for entry in entries))
    names = [each.name for each in CONTESTANTS]
    figure = _matplotlib("figure").Figure(figsize=(4.5 * len(sets), 6.4), layout="constrained")
    panels = figure.subplots(2, len(sets), squeeze=False, sharey=True)
    for row, measure in enumerate(("Accuracy", "NMI")):
        for ax, data in zip(panels[row], sets, strict=True):
            for entry in (each for each in entries if each.data == data):
                _draw_entry(ax, entry, names.index(entry.contestant.name), row)
            ax.set_title(f"{data}: {measure} (%)", fontsize=12)
            ax.set_yticks(range(len(names)), names)
            ax.set_ylim(len(names) - 0.4, -0.6)
            ax.spines[["top", "right"]].set_visible(False)
            ax.grid(axis="x", color=FRAME, alpha=0.25)
    caption = "Dots: restarts at the chosen setting. Upright lines: the published figure, the best of 20 restarts."
    alt = f"Accuracy and NMI of {len(names)} algorithms on {', '.join(sets)}; the numbers are in the table."
    return Picture("table3", caption, alt, figure)


def _draw_entry(ax: Any, entry: Any, place: int, column: int) -> None:
    values = entry.values[:, column]
    spread = np.linspace(-0.22, 0.22, len(values)) if len(values) > 1 else [0.0]
    color = PALETTE[1] if entry.contestant.name in OURS else PALETTE[0]
    ax.scatter(values, place + np.asarray(spread), s=14, color=color, alpha=0.7, linewidths=0)
    published = entry.contestant.published[entry.data][column]
    ax.plot([published] * 2, [place - 0.36, place + 0.36], color="black", linewidth=1.6)
