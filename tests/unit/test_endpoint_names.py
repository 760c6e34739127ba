"""What `load` is told to ask: an address, and a model whose name becomes a folder here."""

from __future__ import annotations

import pytest

from bench.endpoint_load import parse_endpoint
from bench.errors import ScenarioError


@pytest.mark.parametrize("model", ["../x", "a/b", "a b", "a\nb", "x" * 300, "", ".", "-rm", "a\0b", "münchen", "$(id)"])
def test_a_model_that_would_lead_out_of_its_folder_is_refused(model: str) -> None:
    with pytest.raises(ScenarioError, match="expected at most 128 letters") as told:
        parse_endpoint("http://127.0.0.1:8000", "triton", "http", model)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 300


@pytest.mark.parametrize("model", ["digits-cnn", "resnet_50.v1", "x" * 128, "7b"])
def test_names_that_servers_use_are_taken(model: str) -> None:
    assert parse_endpoint("127.0.0.1:8001", "triton", "grpc", model).model == model


@pytest.mark.parametrize("url", ["", "http://", "http://host", "ftp://host:1", "host:x", "http://h:99999"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ScenarioError, match="URL"):
        parse_endpoint(url, "triton", "http", "m")
