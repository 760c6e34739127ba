"""A scenario as frozen objects: what the rest of the program sees. Seconds, fractions and plain numbers only.

`bench.scenario.load` makes these from YAML; nothing here knows of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ServerKind = Literal["triton", "torchserve"]
Runtime = Literal["process", "container", "attach"]
Protocol = Literal["http", "grpc"]
Dtype = Literal["fp32", "fp16"]
Device = Literal["cpu", "gpu"]
Parameter = float | str | tuple[Mapping[str, float], ...]


@dataclass(frozen=True, slots=True)
class Digits:
    """`zoo: digits-cnn`: the small PyTorch CNN on scikit-learn's handwritten digits."""

    zoo: Literal["digits-cnn"] = "digits-cnn"


@dataclass(frozen=True, slots=True)
class ResNet18:
    """`zoo: resnet18`: a ResNet-18 on 3×64×64 images, with random weights."""

    dtype: Dtype = "fp32"
    zoo: Literal["resnet18"] = "resnet18"


@dataclass(frozen=True, slots=True)
class VitTiny:
    """`zoo: vit-tiny`: a transformer of 12 layers on 3×64×64 images, with random weights."""

    dtype: Dtype = "fp32"
    zoo: Literal["vit-tiny"] = "vit-tiny"


@dataclass(frozen=True, slots=True)
class Calibrated:
    """`zoo: calibrated`: a batch of B takes c + B·m by the model's own clock."""

    c_s: float
    m_s: float
    zoo: Literal["calibrated"] = "calibrated"


@dataclass(frozen=True, slots=True)
class External:
    """A model that somebody else serves, known by its name only: `serve-bench load`. No scenario file has it."""

    name: str
    zoo: Literal["external"] = "external"


Model = Digits | ResNet18 | VitTiny | Calibrated | External


@dataclass(frozen=True, slots=True)
class Server:
    """One server to measure: kind × runtime, and the settings both servers share."""

    name: str
    kind: ServerKind
    runtime: Runtime = "process"
    device: Device = "cpu"
    instances: int = 1
    threads: int = 1
    max_batch_size: int = 16
    max_queue_delay_s: float = 0.005
    startup_timeout_s: float = 60.0
    ports: dict[str, int] = field(default_factory=dict)  # asked for by name; any port not named is a free one
    max_queue_size: int | None = None  # waiting requests, beyond which one is refused; None: no limit
    image: str = ""  # of a container; by default the server's own for the device


@dataclass(frozen=True, slots=True)
class Calibration:
    """The latency-vs-B curve. `precision`: half-width of the 95 % intervals of c and m, as a fraction; `restarts`: how
    often it is measured once more, on a server started anew, within the one `max_duration_s`."""

    batch_sizes: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 12, 16)
    precision: float = 0.02
    max_duration_s: float = 60.0
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How arrivals are spread over time; `parameters` are those that `bench.load.arrivals` has for the kind."""

    kind: str = "poisson"
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Search:
    """`load.search`: the highest rate that meets the objective. resolution: of the answer, as a fraction."""

    from_per_s: float = 10.0
    to_per_s: float | None = None
    resolution: float = 0.03
    replications: int = 3


@dataclass(frozen=True, slots=True)
class Load:
    """Open-loop points: every rate for `duration_s` after `warmup_s`, `replications` times."""

    arrivals: Arrivals = Arrivals()
    rates_per_s: tuple[float, ...] = ()
    duration_s: float = 10.0
    warmup_s: float = 2.0
    replications: int = 3
    protocol: Protocol = "http"
    workers: int = 1  # processes of the load generator
    timeout_s: float = 30.0  # after which a request is given up
    search: Search | None = None


@dataclass(frozen=True, slots=True)
class Objective:
    """`slo`: the given percentile of the response time stays within `response_time_s`."""

    percentile: float = 99.0
    response_time_s: float = 0.060


@dataclass(frozen=True, slots=True)
class Checks:
    """Tolerances of the verdicts, as fractions (`output` in the outputs' own unit)."""

    speedup_tolerance: float = 0.05
    ceiling_tolerance: float = 0.06
    affine_tolerance: float = 0.05
    output_tolerance: float = 1e-4
    capacity_tolerance: float = 0.05


@dataclass(frozen=True, slots=True)
class Scenario:
    """What one run does. `servers` keeps the order of the file."""

    name: str
    model: Model
    servers: tuple[Server, ...]
    calibration: Calibration = Calibration()
    load: Load = Load()
    slo: Objective | None = None
    checks: Checks = Checks()
    seed: int = 1
