"""What the server reports of a batch beside the model's own clock, where the model has one (`zoo: calibrated`)."""

from __future__ import annotations

from collections.abc import Mapping

from bench.analysis.verdict import Outcome, Verdict
from bench.scenario.spec import ServerKind
from bench.theory.fit import AffineFit

OWN_CLOCK = "own_clock"
M_SHARE = 0.01
# Seconds. Triton counts unpacking each request of a batch, and answering it, as compute: 0.07 ms a request on two
# cores. TorchServe's figure is taken in the handler, right around the model.
ALLOWED: Mapping[ServerKind, tuple[float, float]] = {"triton": (0.0008, 0.0001), "torchserve": (0.00035, 0.0)}


def own_clock_verdicts(server: str, kind: ServerKind, fits: Mapping[str, AffineFit]) -> list[Verdict]:
    """c and m of the compute layer against those of the model's own clock; none where it has no clock."""
    if not {OWN_CLOCK, "compute"} <= fits.keys():
        return []
    own, compute = fits[OWN_CLOCK], fits["compute"]
    more_c_s, more_m_s = ALLOWED[kind]
    pairs = (
        ("c", own.c_s, compute.c_s, (compute.c_lo_s, compute.c_hi_s), more_c_s),
        ("m", own.m_s, compute.m_s, (compute.m_lo_s, compute.m_hi_s), M_SHARE * own.m_s + more_m_s),
    )
    return [_verdict(server, name, *rest) for name, *rest in pairs]  # type: ignore[arg-type]


def _verdict(
    server: str, name: str, own_s: float, found_s: float, interval_s: tuple[float, float], allowed_s: float
) -> Verdict:
    beyond = interval_s[0] > own_s + allowed_s or interval_s[1] < own_s - allowed_s
    outcome: Outcome = "fails" if beyond else "holds"
    why = f"the server adds {(found_s - own_s) * 1e3:+.3f} ms to what the model's own clock says"
    return Verdict("own clock", server, name, own_s, found_s, allowed_s, outcome, why)
