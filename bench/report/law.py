"""`law`: the formulas on given numbers, as JSON-ready values and as lines for people."""

from __future__ import annotations

import math

from bench.report import quantity
from bench.theory.law import CostModel, delay_to_fill_s, expected_arrivals, plain_sentence


def law_values(
    c_s: float | None, m_s: float | None, B: int | None, rate_per_s: float | None, d_s: float | None
) -> dict[str, float | int | str | None]:
    """The worked numbers, seconds and per second; an infinite ceiling is None. Each argument adds what needs it."""
    values: dict[str, float | int | str | None] = {} if B is None else {"B": B}
    if c_s is not None and m_s is not None:
        model = CostModel(c_s, m_s)
        ceiling = model.ceiling if math.isfinite(model.ceiling) else None
        values |= {"c_s": c_s, "m_s": m_s, "ceiling": ceiling, "regime": model.regime}
        if B is not None:
            values |= {
                "t_serial_s": model.serial_time_s(B),
                "t_batch_s": model.batch_time_s(B),
                "S": model.speedup(B),
                "throughput_per_s": model.throughput_per_s(B),
                "sentence": plain_sentence(model, B),
            }
    if rate_per_s is not None:
        values["rate_per_s"] = rate_per_s
        if d_s is not None:
            values |= {"d_s": d_s, "expected_B": expected_arrivals(rate_per_s, d_s)}
        if B is not None:
            values["required_d_s"] = delay_to_fill_s(rate_per_s, B)
    return values


LINES = (
    ("t_serial_s", "B requests one at a time  B(c+m)", quantity.milliseconds),
    ("t_batch_s", "one batch of B            c+Bm", quantity.milliseconds),
    ("S", "speedup                   S(B)", quantity.number),
    ("ceiling", "ceiling                   1+c/m", quantity.number),
    ("throughput_per_s", "throughput, 1 instance    B/(c+Bm)", lambda v: f"{quantity.number(v)} /s"),
    ("expected_B", "arrivals in the delay     λd", quantity.number),
    ("required_d_s", "delay that fills a batch  B/λ", quantity.milliseconds),
)


def law_table(values: dict[str, float | int | str | None]) -> str:
    """One line per figure, and what it means in a sentence."""
    lines = []
    for key, label, text in LINES:
        value = values.get(key)
        if isinstance(value, int | float):
            lines.append(f"{label:<38}{text(value)}")
        elif key in values:
            lines.append(f"{label:<38}unbounded")
    if "regime" in values:
        lines.append(f"{'regime':<38}{values['regime']}")
    if "sentence" in values:
        lines.append(f"{values['sentence']}.")
    return "\n".join(lines)
