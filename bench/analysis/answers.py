"""Served answers beside the in-process ones: equality, accuracy, and the agreement of two servers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.analysis.verdict import Verdict

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Difference:
    """The output that is furthest from what it should be."""

    payload: int
    output: int
    expected: float
    found: float

    @property
    def size(self) -> float:
        return abs(self.found - self.expected)

    def within(self, tolerance: float) -> bool:
        """False for a NaN too."""
        return self.size <= tolerance


def worst_difference(found: Floats, expected: Floats) -> Difference:
    """The largest difference of two (n, outputs) arrays with n > 0, a NaN counting as larger than any."""
    distance = np.abs(found.astype(np.float64) - expected)
    row, output = np.unravel_index(np.argmax(np.where(np.isnan(distance), np.inf, distance)), distance.shape)
    return Difference(int(row), int(output), float(expected[row, output]), float(found[row, output]))


def difference_text(difference: Difference, tolerance: float, reference: str = "in process") -> str:
    """Which output differs, and by how much."""
    return (
        f"output [{difference.output}] for payload {difference.payload} is {difference.found:.6g}, {reference} it is "
        f"{difference.expected:.6g}: off by {difference.size:.3g}, allowed {tolerance:.3g}"
    )


def answer_verdicts(
    answers: dict[str, Floats], expected: Floats, labels: NDArray[np.int64] | None, tolerance: float
) -> list[Verdict]:
    """Every server: answers equal to the in-process ones, the same accuracy; and the servers equal to each other."""
    verdicts = [_equal("answers", name, "in process", found, expected, tolerance) for name, found in answers.items()]
    if labels is not None:
        here = accuracy(expected, labels)
        for name, found in answers.items():
            served = accuracy(found, labels)
            verdicts.append(
                Verdict(
                    "accuracy", name, f"{len(labels)} held-out payloads", here, served, 0.0,
                    "holds" if served == here else "invalid", f"served {served:.2%}, in process {here:.2%}",
                )
            )  # fmt: skip
    (first, *others) = answers or [""]
    verdicts += [_equal("agreement", other, first, answers[other], answers[first], tolerance) for other in others]
    return verdicts


def accuracy(answers: Floats, labels: NDArray[np.int64]) -> float:
    """Share of answers whose largest output is the label's."""
    return float((answers.argmax(axis=1) == labels).mean())


def _equal(check: str, server: str, reference: str, found: Floats, expected: Floats, tolerance: float) -> Verdict:
    worst = worst_difference(found, expected)
    right = worst.within(tolerance)
    why = f"largest difference over {found.size} outputs" if right else difference_text(worst, tolerance, reference)
    return Verdict(check, server, reference, 0.0, worst.size, tolerance, "holds" if right else "invalid", why)
