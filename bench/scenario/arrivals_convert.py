"""The form of `load.arrivals` to what `bench.load.arrivals` takes: seconds, fractions and an absolute path."""

from __future__ import annotations

from pathlib import Path

from bench.scenario.arrivals_form import (
    AnyArrivalsForm,
    GammaKeyForm,
    MmppKeyForm,
    OnOffKeyForm,
    RampKeyForm,
    SineKeyForm,
    StepsKeyForm,
    TraceKeyForm,
)
from bench.scenario.arrivals_parts import TraceForm
from bench.scenario.spec import Arrivals


def to_arrivals(form: AnyArrivalsForm, folder: Path) -> Arrivals:
    """`folder`: what the path of a trace is relative to."""
    match form:
        case str():
            return Arrivals(form)
        case GammaKeyForm(gamma=gamma):
            return Arrivals("gamma", {"cv": gamma.cv})
        case OnOffKeyForm(on_off=times):
            return Arrivals(
                "on_off", {"on_s": times.on, "off_s": times.off, "share": times.share, "dwell": times.dwell}
            )
        case MmppKeyForm(mmpp=states):
            return Arrivals("mmpp", {"states": tuple({"rate": s.rate, "dwell_s": s.dwell} for s in states)})
        case StepsKeyForm(steps=steps):
            return Arrivals("steps", {"steps": tuple({"factor": s.factor, "share": s.share} for s in steps)})
        case RampKeyForm(ramp=ramp):
            return Arrivals("ramp", {"start": ramp.from_, "end": ramp.to})
        case SineKeyForm(sine=sine):
            return Arrivals("sine", {"period_s": sine.period, "amplitude": sine.amplitude})
        case TraceKeyForm(trace=trace):
            trace = TraceForm(file=trace) if isinstance(trace, str) else trace
            return Arrivals("trace", {"file": str((folder / trace.file).resolve()), "scale": trace.scale})
