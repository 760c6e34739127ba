"""pydantic's errors as problems of the file: with the line, what is known there, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from bench.errors import Problem
from bench.scenario.arrivals_form import PARTS
from bench.scenario.form import CalibrationForm, ChecksForm, LoadForm, ScenarioForm, ServerForm, SloForm
from bench.scenario.model_form import CalibratedKeyForm, TimesForm, form_of
from bench.scenario.tree import Path, Tree
from bench.scenario.wording import dotted, near_or_known, plain, show

_SECTIONS: dict[str | int, type[BaseModel]] = {
    "calibration": CalibrationForm,
    "load": LoadForm,
    "slo": SloForm,
    "checks": ChecksForm,
}


def form_problems(error: ValidationError, tree: Tree) -> Iterator[Problem]:
    for details in error.errors(include_url=False):
        path: Path = details["loc"]
        # pydantic's mark of a name that was refused, unless someone has named a key so.
        if details["type"] == "refused" and len(path) == 3 and path[2] == "[key]":
            yield _refused(details, path[:2], tree, show(path[1]))
        elif not tree.is_reported(path):
            yield _problem(details, path, tree)


def _problem(details: ErrorDetails, path: Path, tree: Tree) -> Problem:
    match details["type"]:
        case "extra_forbidden":
            known, key = _known_keys(path[:-1], tree), str(path[-1])
            found = tree.found(path, f"the unknown key '{plain(key)}'")
            return Problem(tree.line(path), dotted(path), "a known key", found, near_or_known(key, known))
        case "missing":
            form = _form_at(path[:-1], tree)
            field = _field(form, str(path[-1]))
            expected = (field.description if field else "") or "a value"
            found = tree.found(path, "nothing")
            return Problem(tree.line(path), dotted(path), expected, found, f"add '{path[-1]}'")
        case "model_type":
            found = tree.found(path, show(details["input"]))
            keys = f"a mapping with keys from {', '.join(_known_keys(path, tree))}"
            return Problem(tree.line(path), dotted(path), keys, found)
    return _refused(details, path, tree, show(details["input"]))


def _refused(details: ErrorDetails, path: Path, tree: Tree, found: str) -> Problem:
    context = details.get("ctx", {})
    hint = str(context.get("hint", ""))
    if details["input"] is None and path:
        field = _field(_form_at(path[:-1], tree), str(path[-1]))
        optional = field is not None and not field.is_required()
        hint = "write a value, or leave the key out for its default" if optional else "write a value"
    expected = str(context.get("expected", details["msg"]))
    return Problem(tree.line(path), dotted(path), expected, tree.found(path, found), hint)


def _known_keys(path: Path, tree: Tree) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in _form_at(path, tree).model_fields.items())


def _field(form: type[BaseModel], key: str) -> FieldInfo | None:
    """Of a key as it stands in the file, which may be a word that Python keeps for itself."""
    return next((field for name, field in form.model_fields.items() if key == (field.alias or name)), None)


def _form_at(path: Path, tree: Tree) -> type[BaseModel]:
    match path:
        case ():
            return ScenarioForm
        case ("servers", *_):
            return ServerForm
        case ("model",):
            return form_of(tree.mapping("model"))
        case ("model", "zoo"):
            return CalibratedKeyForm
        case ("model", *_):
            return TimesForm
        case ("load", "arrivals", kind, *_):
            return PARTS[kind]
    return _SECTIONS[path[0]]
