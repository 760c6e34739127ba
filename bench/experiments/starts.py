"""The calibration of one server over several starts of it: those that the scenario asks for, and a fresh one whenever
a batch did not fit into memory, which is seldom given back.

Knows what is still to be calibrated, on how many servers and for how long; starting them is the caller's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.errors import OutOfMemory
from bench.experiments.calibration import Calibration
from bench.scenario.arms import Arm

FEWEST_SIZES = 2  # c and m cannot be told apart from batches of one size


@dataclass(slots=True)
class Starts:
    """arms: of exact batches, those that may fit, by one instance and by all of them; left: starts still to be made;
    budget_s: time left for batches one at a time in all of them; taken: of the start that is being made, or was last;
    saturated_blocks: made so far."""

    arms: tuple[Arm, ...]
    left: int
    budget_s: float
    taken: Calibration = field(default_factory=lambda: Calibration([]))
    saturated_blocks: int = 0

    @property
    def exact(self) -> tuple[Arm, ...]:
        """The arms of one instance."""
        return tuple(arm for arm in self.arms if arm.instances == 1)

    @property
    def share_s(self) -> float:
        """What is left of the time, for each of the starts that are left."""
        return max(0.0, self.budget_s) / max(1, self.left)

    def begin(self) -> Calibration:
        """What the next start fills: its number and those of its blocks go on where the last one ended."""
        last = self.taken
        if last.samples:
            blocks = max(sample.block for sample in last.samples) + 1
            self.taken = Calibration([], blocks=blocks, start=last.start + 1)
        else:
            self.taken = Calibration([], blocks=last.blocks, start=last.start)
        return self.taken

    def give_up_from(self, batch_size: int) -> None:
        """Batches of so many do not fit: those below are calibrated, if there are enough of them to be fitted."""
        self.arms = tuple(arm for arm in self.arms if arm.max_batch_size < batch_size)
        if len(self.exact) < FEWEST_SIZES:
            self.left = 0


def shortage_row(server: str, error: OutOfMemory, during: str) -> dict[str, object]:
    """A row of out_of_memory.csv. during: answers, or calibration."""
    return {"server": server, "batch_size": error.batch_size, "during": during, "cause": error.cause}


def shortage_note(error: OutOfMemory, during: str) -> str:
    """What did not fit, and what was done about it."""
    if during == "answers":
        half = error.batch_size // 2
        return f"{error.message}; the held-out payloads were asked for {half} at a time, on a server started anew"
    return f"{error.message}; it and larger ones are left out, smaller ones are measured on a server started anew"
