"""HTTP requests against those of tritonclient itself, whose modules for it need no more than is installed.

Its package `tritonclient.http` imports gevent, which nothing here needs: the modules that lay out a request are
imported without it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from bench.clients.outcome import Outcome
from bench.clients.triton_http import infer_request, parse_infer_response

PACKAGE = "tritonclient.http"


@pytest.fixture(scope="module")
def reference() -> Iterator[dict[str, ModuleType]]:
    before = {name for name in sys.modules if name.startswith(PACKAGE)}
    if before:
        pytest.skip("tritonclient.http is imported already")
    spec = importlib.util.find_spec("tritonclient")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    package = ModuleType(PACKAGE)
    package.__path__ = [f"{place}/http" for place in spec.submodule_search_locations]
    sys.modules[PACKAGE] = package
    try:
        names = ("_utils", "_infer_input", "_requested_output")
        yield {name: importlib.import_module(f"{PACKAGE}.{name}") for name in names}
    finally:
        for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
            del sys.modules[name]


@pytest.mark.parametrize("request_id", ["", "r1"])
def test_a_request_has_the_header_and_body_that_tritonclient_makes(
    reference: dict[str, ModuleType], request_id: str
) -> None:
    arrays = {"FP32": np.array([[1.5, -2.0]], np.float32), "INT64": np.array([[7]]), "BOOL": np.array([[True]])}
    inputs = []
    for name, array in arrays.items():
        inputs.append(reference["_infer_input"].InferInput(name, list(array.shape), name))
        inputs[-1].set_data_from_numpy(array)
    outputs = [reference["_requested_output"].InferRequestedOutput("Y")]
    body, length = reference["_utils"]._get_inference_request(
        inputs, request_id, outputs, 0, False, False, 0, None, None
    )

    head, found = infer_request("m", arrays, ["Y"], "h", request_id).split(b"\r\n\r\n", 1)

    assert found == body
    assert f"Inference-Header-Content-Length: {length}".encode() in head.split(b"\r\n")


def test_an_answer_is_read_as_tritonclient_reads_it(reference: dict[str, ModuleType]) -> None:
    header = b'{"outputs":[{"name":"Y","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}]}'
    body = header + np.array([1.5, -2.0], np.float32).tobytes()
    result = importlib.import_module(f"{PACKAGE}._infer_result").InferResult.from_response_body(
        body, header_length=len(header)
    )
    found = parse_infer_response(Outcome(200, {"inference-header-content-length": str(len(header))}, body, ""))
    assert np.array_equal(found["Y"], result.as_numpy("Y"))
