"""The spellings of `model:` and which of them a file means."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WrapValidator
from pydantic_core import InitErrorDetails

from bench.scenario.spec import Dtype
from bench.scenario.values import Choice, Duration, refused

LATER = ("torchscript", "onnx", "python")
SPELLINGS = "{zoo: digits-cnn}, {zoo: resnet18}, {zoo: vit-tiny} or {zoo: calibrated, c: 4ms, m: 2ms}"
_ZOO = Choice(("digits-cnn", "resnet18", "vit-tiny", "calibrated"))


def _zoo(word: str) -> Any:
    # Every word is read, so that a wrong one is told all; an editor gets the one that this spelling has.
    return Field(description=f"the model, as in {SPELLINGS}", json_schema_extra={"enum": [word]})


class Form(BaseModel):
    """A mapping of the file: its keys, all of them known, and the values they take."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TimesForm(Form):
    """The calibrated model's law: a batch of B takes c + B·m."""

    c: Annotated[float, Duration(zero=True)] = Field(description="the time of a batch whatever its size, such as 4ms")
    m: Annotated[float, Duration()] = Field(description="the time that each request of a batch adds, such as 2ms")


class DigitsForm(Form):
    """A small PyTorch CNN on scikit-learn's handwritten digits."""

    zoo: Annotated[Literal["digits-cnn"], _ZOO] = _zoo("digits-cnn")


class NetworkForm(Form):
    """A network that can compute in half precision."""

    dtype: Annotated[Dtype, Choice(("fp32", "fp16"))] = Field(
        default="fp32", description="what it computes in; fp16 wants a larger checks.output_tolerance"
    )


class ResNet18Form(NetworkForm):
    """A ResNet-18 on 3×64×64 images, with random weights: its answers mean nothing."""

    zoo: Annotated[Literal["resnet18"], _ZOO] = _zoo("resnet18")


class VitTinyForm(NetworkForm):
    """A transformer of 12 layers, ViT-Tiny, on 3×64×64 images, with random weights."""

    zoo: Annotated[Literal["vit-tiny"], _ZOO] = _zoo("vit-tiny")


class CalibratedForm(TimesForm):
    """A model whose batch of B takes c + B·m by its own clock."""

    zoo: Annotated[Literal["calibrated"], _ZOO] = _zoo("calibrated")


class CalibratedKeyForm(Form):
    """`calibrated: {c, m}`, the same model with its times below its name."""

    calibrated: TimesForm = Field(description="the times {c: 4ms, m: 2ms}")


class ZooKeyForm(Form):
    """`zoo: {calibrated: {c, m}}`, the same once more."""

    zoo: CalibratedKeyForm = Field(description="the model {calibrated: {c: 4ms, m: 2ms}}")


AnyModelForm = DigitsForm | ResNet18Form | VitTinyForm | CalibratedForm | CalibratedKeyForm | ZooKeyForm
_BY_WORD: dict[str, type[AnyModelForm]] = {
    "digits-cnn": DigitsForm,
    "resnet18": ResNet18Form,
    "vit-tiny": VitTinyForm,
    "calibrated": CalibratedForm,
}


def form_of(model: dict[str, object]) -> type[AnyModelForm]:
    """The spelling that a mapping is nearest to, so that its problems are about what was meant."""
    zoo = model.get("zoo")
    if isinstance(zoo, dict):
        return ZooKeyForm
    if "calibrated" in model:
        return CalibratedKeyForm
    if isinstance(zoo, str) and zoo in _BY_WORD:
        return _BY_WORD[zoo]
    return CalibratedForm if "c" in model or "m" in model else DigitsForm


def _read(value: Any, _handler: object) -> AnyModelForm:
    if not isinstance(value, dict):
        raise refused(SPELLINGS)
    for key in LATER:
        if key in value:
            error = refused(f"{SPELLINGS} (torchscript, onnx and python models are not in this version)")
            raise ValidationError.from_exception_data("model", [InitErrorDetails(type=error, loc=(key,), input=key)])
    return form_of(value).model_validate(value)


ModelForm = Annotated[AnyModelForm, WrapValidator(_read)]


def times_of(model: AnyModelForm) -> TimesForm | None:
    """The times of a calibrated model, None for a network."""
    match model:
        case CalibratedForm():
            return model
        case CalibratedKeyForm():
            return model.calibrated
        case ZooKeyForm():
            return model.zoo.calibrated
    return None
