"""A form without problems to the frozen objects of `spec`."""

from __future__ import annotations

from pathlib import Path

from bench.scenario import spec
from bench.scenario.arrivals_convert import to_arrivals
from bench.scenario.batch_sizes import default_batch_sizes
from bench.scenario.form import LoadForm, ScenarioForm, SearchForm, ServerForm
from bench.scenario.model_form import AnyModelForm, ResNet18Form, VitTinyForm, times_of


def to_scenario(form: ScenarioForm, folder: Path) -> spec.Scenario:
    """`folder`: the scenario file's, which the paths in it are relative to."""
    smallest = min(server.max_batch_size for server in form.servers.values())
    calibration, checks = form.calibration, form.checks
    return spec.Scenario(
        name=form.name,
        model=_model(form.model),
        servers=tuple(_server(name, server) for name, server in form.servers.items()),
        calibration=spec.Calibration(
            batch_sizes=calibration.batch_sizes or default_batch_sizes(smallest),
            precision=calibration.precision,
            max_duration_s=calibration.max_duration,
            restarts=calibration.restarts,
        ),
        load=to_load(form.load, folder),
        slo=spec.Objective(form.slo.percentile, form.slo.response_time) if "slo" in form.model_fields_set else None,
        checks=spec.Checks(**checks.model_dump()),
        seed=form.seed,
    )


def to_load(form: LoadForm, folder: Path) -> spec.Load:
    """`folder`: what the path of a trace is relative to."""
    return spec.Load(
        arrivals=to_arrivals(form.arrivals, folder),
        rates_per_s=form.rates,
        duration_s=form.duration,
        warmup_s=form.warmup,
        replications=form.replications,
        protocol=form.protocol,
        workers=form.workers,
        timeout_s=form.timeout,
        search=_search(form.search),
    )


def _search(form: SearchForm | None) -> spec.Search | None:
    return None if form is None else spec.Search(form.from_, form.to, form.resolution, form.replications)


def _model(form: AnyModelForm) -> spec.Model:
    times = times_of(form)
    if times:
        return spec.Calibrated(c_s=times.c, m_s=times.m)
    match form:
        case ResNet18Form():
            return spec.ResNet18(form.dtype)
        case VitTinyForm():
            return spec.VitTiny(form.dtype)
    return spec.Digits()


def _server(name: str, form: ServerForm) -> spec.Server:
    return spec.Server(
        name=name,
        kind=form.kind,
        runtime=form.runtime,
        image=form.image,
        device=form.device,
        instances=form.instances,
        threads=form.threads,
        max_batch_size=form.max_batch_size,
        max_queue_delay_s=form.max_queue_delay,
        startup_timeout_s=form.startup_timeout,
        max_queue_size=form.max_queue_size,
        ports=dict(form.ports),
    )
