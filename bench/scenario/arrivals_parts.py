"""What a kind of arrivals takes in `load.arrivals:`, and what it must be together."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bench.scenario.model_form import Form
from bench.scenario.units import fraction_text
from bench.scenario.values import Choice, Duration, FileName, Fraction, Number, refused

SCALES = ("time", "thin", "recorded")
DWELLS = ("exponential", "fixed")
_FACTOR = Number(0, 1e6, zero=True)
_SHARES_OFF = 0.0101  # 33% three times is meant to be all


class GammaForm(Form):
    """Gaps that know nothing of each other, gamma distributed."""

    cv: Annotated[float, Number(0, 100)] = Field(
        description="standard deviation of the gaps over their mean: 1 is Poisson, above it come bursts"
    )


class OnOffForm(Form):
    """Poisson bursts with pauses between them."""

    on: Annotated[float, Duration()] = Field(description="how long a burst lasts, such as 1s")
    off: Annotated[float, Duration()] = Field(description="how long a pause lasts, such as 4s")
    share: Annotated[float, Fraction()] = Field(
        default=1.0,
        description="of all arrivals, those that come in the bursts",
        json_schema_extra={"default": "100%"},
    )
    dwell: Annotated[str, Choice(DWELLS)] = Field(
        default="exponential", description="whether the times are means of exponential ones, or fixed"
    )


class StateForm(Form):
    """A state of a Markov-modulated Poisson process, each of the others being as likely to follow."""

    rate: Annotated[float, _FACTOR] = Field(description="the state's rate relative to those of the others, such as 10")
    dwell: Annotated[float, Duration()] = Field(description="the mean time that the state lasts, such as 1s")


class StepForm(Form):
    """A part of the measured time with a rate of its own."""

    factor: Annotated[float, _FACTOR] = Field(description="the step's rate relative to those of the others, such as 2")
    share: Annotated[float, Fraction()] = Field(description="of the measured time, such as 25%")


class RampForm(Form):
    """A rate that goes in a straight line over the measured time."""

    from_: Annotated[float, _FACTOR] = Field(alias="from", description="the first rate, relative to the last")
    to: Annotated[float, _FACTOR] = Field(description="the last rate, relative to the first")


class SineForm(Form):
    """A rate that swings around the asked one, up first."""

    period: Annotated[float, Duration()] = Field(description="the time of one swing up and down, such as 60s")
    amplitude: Annotated[float, Fraction()] = Field(description="how far it swings, of the mean, such as 80%")


class TraceForm(Form):
    """Arrivals as they were recorded."""

    file: Annotated[str, FileName()] = Field(description="CSV of times; relative to the scenario's folder")
    scale: Annotated[str, Choice(SCALES)] = Field(
        default="time",
        description="how the trace gets the asked rate: its time stretched, arrivals left out (thin), or not at all",
    )


def checked_states(states: tuple[StateForm, ...]) -> tuple[StateForm, ...]:
    if not 2 <= len(states) <= 16:
        raise refused("2 to 16 states", f"it has {len(states)}")
    if not any(state.rate for state in states):
        raise refused("a state with a rate above 0", "nothing would ever arrive")
    return states


def checked_steps(steps: tuple[StepForm, ...]) -> tuple[StepForm, ...]:
    if not 1 <= len(steps) <= 1000:
        raise refused("1 to 1000 steps", f"it has {len(steps)}")
    total = sum(step.share for step in steps)
    if abs(total - 1) > _SHARES_OFF:
        raise refused("shares that add up to 100%", f"they add up to {fraction_text(total)}")
    if not any(step.factor for step in steps):
        raise refused("a step with a factor above 0", "nothing would ever arrive")
    return steps


def checked_ramp(ramp: RampForm) -> RampForm:
    if ramp.from_ == ramp.to == 0:
        raise refused("a ramp from or to a rate above 0", "nothing would ever arrive")
    return ramp
