"""The YAML form of a scenario. The defaults are those of `spec`; descriptions go into the JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from bench.scenario import spec
from bench.scenario.arrivals_form import EXAMPLES, ArrivalsForm
from bench.scenario.kinds import JOB_QUEUE_SIZE, LIMITS
from bench.scenario.model_form import SPELLINGS, Form, ModelForm
from bench.scenario.units import duration_text, fraction_text
from bench.scenario.values import Choice, Duration, Fraction, ImageName, Name, Number, Whole, refused

_SERVER = spec.Server(name="", kind="triton")
_CALIBRATION = spec.Calibration()
_LOAD = spec.Load()
_SEARCH = spec.Search()
_SLO = spec.Objective()
_CHECKS = spec.Checks()

KIND = Choice(tuple(LIMITS))
BATCH_SIZE = Whole(1, 1024)
PORT = Whole(1, 65_535)
QUEUE_DELAY = Duration(zero=True)
POSITIVE_DURATION = Duration()
MOST_BATCH_SIZES = 64
_COUNT = Whole(1, 1024)
QUEUE_SIZE = Whole(1, JOB_QUEUE_SIZE)
RESTARTS = Whole(0, 100)
RATE = Number(0, 1e6)


def _time(seconds: float, description: str) -> Any:
    return Field(default=seconds, description=description, json_schema_extra={"default": duration_text(seconds)})


def _share(fraction: float, description: str) -> Any:
    return Field(default=fraction, description=description, json_schema_extra={"default": fraction_text(fraction)})


def _items(value: object) -> tuple[object, ...]:
    # pydantic's strict mode takes no list for a tuple.
    if not isinstance(value, list):
        raise refused("a list such as [1, 2, 4]")
    return tuple(value)


def _named(value: object) -> object:
    if not isinstance(value, dict) or not value:
        raise refused("a mapping with at least one server, such as {triton: {kind: triton}}")
    return value


def _ports(value: object) -> object:
    if not isinstance(value, dict):
        raise refused("a mapping of port names to numbers, such as {metrics: 8002}")
    return value


class ServerForm(Form):
    """One server to measure."""

    kind: Annotated[spec.ServerKind, KIND] = Field(description="triton or torchserve")
    runtime: Annotated[spec.Runtime, Choice(("process", "container"), later=("attach",))] = Field(
        default=_SERVER.runtime, description="how the server runs"
    )
    image: Annotated[str, ImageName()] = Field(
        default=_SERVER.image, description="what a container runs, by tag or digest; by default one for the device"
    )
    device: Annotated[spec.Device, Choice(("cpu", "gpu"))] = Field(
        default=_SERVER.device, description="what the model computes on"
    )
    instances: Annotated[int, _COUNT] = Field(
        default=_SERVER.instances, description="copies of the model that compute at the same time"
    )
    threads: Annotated[int, _COUNT] = Field(default=_SERVER.threads, description="threads of one instance")
    max_batch_size: Annotated[int, BATCH_SIZE] = Field(
        default=_SERVER.max_batch_size, description="most requests that the server puts into one batch"
    )
    max_queue_delay: Annotated[float, QUEUE_DELAY] = _time(
        _SERVER.max_queue_delay_s, "longest wait of a request for others to share its batch"
    )
    max_queue_size: Annotated[int | None, QUEUE_SIZE] = Field(
        default=_SERVER.max_queue_size,
        description="most requests that wait; one more is refused (503). Without this key there is no limit. "
        "Triton batches otherwise under a limit, so leave it out where latency is measured",
    )
    startup_timeout: Annotated[float, POSITIVE_DURATION] = _time(
        _SERVER.startup_timeout_s, "longest wait until the server is ready"
    )
    ports: Annotated[dict[str, Annotated[int, PORT]], BeforeValidator(_ports)] = Field(
        default_factory=dict,
        description="fixed ports by name, others are free ones: "
        + "; ".join(f"{kind}: {', '.join(limits.ports)}" for kind, limits in LIMITS.items()),
    )


class CalibrationForm(Form):
    """The curve of latency over batch size, from which c and m are fitted."""

    batch_sizes: Annotated[tuple[Annotated[int, BATCH_SIZE], ...], BeforeValidator(_items)] = Field(
        default=(),
        description="batch sizes to measure: 1 and at least two more; by default those of the list up to the "
        "smallest max_batch_size, and that size",
        json_schema_extra={
            "default": list(_CALIBRATION.batch_sizes),
            "contains": {"const": 1},
            "uniqueItems": True,
            "minItems": 2,
            "maxItems": MOST_BATCH_SIZES,
        },
    )
    precision: Annotated[float, Fraction()] = _share(
        _CALIBRATION.precision, "stop when the 95 % intervals of c and m are this narrow"
    )
    max_duration: Annotated[float, POSITIVE_DURATION] = _time(
        _CALIBRATION.max_duration_s, "stop at the latest after this time, of all starts together"
    )
    restarts: Annotated[int, RESTARTS] = Field(
        default=_CALIBRATION.restarts,
        description="measure it so many times more, each on a server started anew; from 4 on the intervals of c and m "
        "are taken over the starts",
    )


class SearchForm(Form):
    """The highest rate whose percentile meets the objective, by bisection with replications."""

    from_: Annotated[float, RATE] = Field(
        default=_SEARCH.from_per_s,
        alias="from",
        description="arrivals per second below which it does not look, and where it starts without a capacity",
    )
    to: Annotated[float | None, RATE] = Field(
        default=_SEARCH.to_per_s, description="arrivals per second above which it does not look; without it, no limit"
    )
    resolution: Annotated[float, Fraction()] = _share(_SEARCH.resolution, "how close the answer is wanted")
    replications: Annotated[int, _COUNT] = Field(
        default=_SEARCH.replications, description="repeats of the rates about the answer"
    )


class LoadForm(Form):
    """Open-loop load: requests are sent when planned, whatever the server does."""

    arrivals: ArrivalsForm = Field(
        default=_LOAD.arrivals.kind,
        description="how the arrivals are spread over time: poisson, constant, or a kind with its parameters such as "
        + ", ".join(EXAMPLES.values()),
    )
    rates: Annotated[tuple[Annotated[float, RATE], ...], BeforeValidator(_items)] = Field(
        default=_LOAD.rates_per_s,
        description="arrivals per second, one measured point for each",
        json_schema_extra={"default": list(_LOAD.rates_per_s)},
    )
    duration: Annotated[float, POSITIVE_DURATION] = _time(_LOAD.duration_s, "measured time of each point")
    warmup: Annotated[float, Duration(zero=True)] = _time(
        _LOAD.warmup_s, "time of load before it, which is not measured"
    )
    replications: Annotated[int, _COUNT] = Field(default=_LOAD.replications, description="repeats of each point")
    protocol: Annotated[spec.Protocol, Choice(("http", "grpc"))] = Field(
        default=_LOAD.protocol, description="how requests travel: http or grpc"
    )
    workers: Annotated[int, _COUNT] = Field(default=_LOAD.workers, description="processes of the load generator")
    timeout: Annotated[float, POSITIVE_DURATION] = _time(
        _LOAD.timeout_s, "a request without an answer is given up then"
    )
    search: SearchForm | None = Field(
        default=None, description="find the highest rate that meets the objective, which `slo` has; {} for the defaults"
    )


class SloForm(Form):
    """The objective: this percentile of the response time stays within `response_time`."""

    percentile: Annotated[float, Number(0, 100, open_end=True)] = Field(
        default=_SLO.percentile, description="percentile of the response time, such as 99"
    )
    response_time: Annotated[float, POSITIVE_DURATION] = _time(_SLO.response_time_s, "longest response time")


class ChecksForm(Form):
    """Tolerances of the verdicts."""

    speedup_tolerance: Annotated[float, Fraction()] = _share(
        _CHECKS.speedup_tolerance, "of the measured against the predicted speedup"
    )
    ceiling_tolerance: Annotated[float, Fraction()] = _share(
        _CHECKS.ceiling_tolerance, "of the measured against the predicted ceiling of the speedup"
    )
    affine_tolerance: Annotated[float, Fraction()] = _share(
        _CHECKS.affine_tolerance, "of the measured latencies against the fitted line"
    )
    capacity_tolerance: Annotated[float, Fraction()] = _share(
        _CHECKS.capacity_tolerance, "of the throughput at saturation against the predicted capacity"
    )
    output_tolerance: Annotated[float, Fraction()] = Field(
        default=_CHECKS.output_tolerance,
        description="of the servers' outputs against the model's own, in the outputs' unit",
    )


class ScenarioForm(Form):
    """A serve-bench scenario: which model, on which servers, under which load, and what must hold."""

    name: Annotated[str, Name()] = Field(description="the name of the scenario, and of its results folder")
    model: ModelForm = Field(description=f"the model to serve: {SPELLINGS}")
    servers: Annotated[dict[Annotated[str, Name()], ServerForm], BeforeValidator(_named)] = Field(
        description="the servers to measure by name, such as {triton: {kind: triton}}",
        json_schema_extra={"minProperties": 1, "additionalProperties": False},
    )
    calibration: CalibrationForm = Field(default_factory=CalibrationForm, description="the latency curve")
    load: LoadForm = Field(default_factory=LoadForm, description="the open-loop load")
    slo: SloForm = Field(default_factory=SloForm, description="the objective; without this key there is none")
    checks: ChecksForm = Field(default_factory=ChecksForm, description="tolerances of the verdicts")
    seed: Annotated[int, Whole(0, 2**63 - 1)] = Field(default=1, description="of arrivals and inputs")
