"""The spellings of `load.arrivals:` and which of them a file means."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, WrapValidator
from pydantic_core import InitErrorDetails

from bench.scenario.arrivals_parts import (
    GammaForm,
    OnOffForm,
    RampForm,
    SineForm,
    StateForm,
    StepForm,
    TraceForm,
    checked_ramp,
    checked_states,
    checked_steps,
)
from bench.scenario.model_form import Form
from bench.scenario.values import Choice, FileName, refused
from bench.scenario.wording import either, near, plain

WORDS = ("constant", "poisson")
EXAMPLES = {
    "gamma": "{gamma: {cv: 2}}",
    "on_off": "{on_off: {on: 1s, off: 4s}}",
    "mmpp": "{mmpp: [{rate: 1, dwell: 5s}, {rate: 10, dwell: 1s}]}",
    "steps": "{steps: [{factor: 1, share: 50%}, {factor: 2, share: 50%}]}",
    "ramp": "{ramp: {from: 0.5, to: 1.5}}",
    "sine": "{sine: {period: 60s, amplitude: 80%}}",
    "trace": "{trace: arrivals.csv}",
}
KINDS = (*WORDS, *EXAMPLES)


def _items(value: object) -> tuple[object, ...]:
    # pydantic's strict mode takes no list for a tuple.
    if not isinstance(value, list):
        raise refused(f"a list, such as {EXAMPLES['mmpp']} or {EXAMPLES['steps']}")
    return tuple(value)


def _trace(value: Any, _handler: object) -> str | TraceForm:
    if isinstance(value, dict):
        return TraceForm.model_validate(value)
    return FileName().read(value)


class GammaKeyForm(Form):
    """`gamma: {cv}`."""

    gamma: GammaForm = Field(description=f"gamma gaps, {EXAMPLES['gamma']}")


class OnOffKeyForm(Form):
    """`on_off: {on, off}`."""

    on_off: OnOffForm = Field(description=f"bursts and pauses, {EXAMPLES['on_off']}")


class MmppKeyForm(Form):
    """`mmpp: [{rate, dwell}, …]`."""

    mmpp: Annotated[tuple[StateForm, ...], AfterValidator(checked_states), BeforeValidator(_items)] = Field(
        description=f"states with rates, {EXAMPLES['mmpp']}"
    )


class StepsKeyForm(Form):
    """`steps: [{factor, share}, …]`."""

    steps: Annotated[tuple[StepForm, ...], AfterValidator(checked_steps), BeforeValidator(_items)] = Field(
        description=f"one rate after the other, {EXAMPLES['steps']}"
    )


class RampKeyForm(Form):
    """`ramp: {from, to}`."""

    ramp: Annotated[RampForm, AfterValidator(checked_ramp)] = Field(description=f"a straight line, {EXAMPLES['ramp']}")


class SineKeyForm(Form):
    """`sine: {period, amplitude}`."""

    sine: SineForm = Field(description=f"up and down, as days go, {EXAMPLES['sine']}")


class TraceKeyForm(Form):
    """`trace: file.csv` or `trace: {file, scale}`."""

    trace: Annotated[Annotated[str, FileName()] | TraceForm, WrapValidator(_trace)] = Field(
        description=f"recorded arrivals, {EXAMPLES['trace']}"
    )


AnyArrivalsForm = (
    Annotated[str, Choice(WORDS)]
    | GammaKeyForm
    | OnOffKeyForm
    | MmppKeyForm
    | StepsKeyForm
    | RampKeyForm
    | SineKeyForm
    | TraceKeyForm
)
_KEY_FORMS: dict[str, type[Form]] = {
    "gamma": GammaKeyForm,
    "on_off": OnOffKeyForm,
    "mmpp": MmppKeyForm,
    "steps": StepsKeyForm,
    "ramp": RampKeyForm,
    "sine": SineKeyForm,
    "trace": TraceKeyForm,
}
# What stands below each kind's key, or in its list.
PARTS: dict[str | int, type[Form]] = {
    "gamma": GammaForm,
    "on_off": OnOffForm,
    "mmpp": StateForm,
    "steps": StepForm,
    "ramp": RampForm,
    "sine": SineForm,
    "trace": TraceForm,
}


def _read(value: Any, _handler: object) -> Any:
    if isinstance(value, str):
        if value in EXAMPLES:
            raise refused(f"{value} with its parameters", f"such as {EXAMPLES[value]}")
        if value not in WORDS:
            raise refused(either(KINDS), near(value, KINDS))
        return value
    if not isinstance(value, dict):
        raise refused(f"{either(KINDS)}, such as poisson or {EXAMPLES['gamma']}")
    if len(value) != 1:
        names = ", ".join(plain(str(key)) for key in value)
        raise refused(f"one kind of arrivals, such as {EXAMPLES['gamma']}", f"it names {names or 'none'}")
    (kind,) = value
    if kind in _KEY_FORMS:
        return _KEY_FORMS[kind].model_validate(value)
    error = refused(f"the word alone, arrivals: {kind}") if kind in WORDS else refused(either(KINDS), near(kind, KINDS))
    raise ValidationError.from_exception_data("arrivals", [InitErrorDetails(type=error, loc=(kind,), input=kind)])


ArrivalsForm = Annotated[AnyArrivalsForm, WrapValidator(_read)]
