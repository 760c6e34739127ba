"""References of images and what is asked of Docker, without a daemon."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker
import pytest
from docker.errors import DockerException, ImageNotFound

from bench.errors import ServerError
from bench.scenario.spec import Server
from bench.servers import container, triton_memory
from bench.servers.container import ServerContainer
from bench.servers.daemon import daemon_fault
from bench.servers.host import Launch
from bench.servers.pull import pull, split


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("tritonserver", ("tritonserver", "latest")),
        ("nvcr.io/nvidia/tritonserver:25.06-py3", ("nvcr.io/nvidia/tritonserver", "25.06-py3")),
        ("localhost:5000/a/b", ("localhost:5000/a/b", "latest")),
        ("localhost:5000/a/b:1", ("localhost:5000/a/b", "1")),
        ("a/b@sha256:00", ("a/b", "sha256:00")),
    ],
)
def test_a_reference_is_split_at_its_tag_and_not_at_a_port(reference: str, parts: tuple[str, str]) -> None:
    assert split(reference) == parts


def client(lines: list[dict[str, Any]]) -> Any:
    return SimpleNamespace(api=SimpleNamespace(pull=lambda *_, **__: iter(lines)))


def test_a_pull_tells_its_progress_over_all_layers_and_its_failure() -> None:
    said: list[float] = []
    layers = [
        {"id": "a", "progressDetail": {"current": 5, "total": 10}},
        {"id": "b", "progressDetail": {"current": 10, "total": 30}},
        {"id": "a", "progressDetail": {}},
    ]
    pull(client(layers), "x:1", "triton", lambda _, fraction: said.append(-1.0 if fraction is None else fraction))
    assert said == [-1.0, 0.5, 0.375]
    with pytest.raises(ServerError, match="triton: the image x:1 cannot be pulled: denied"):
        pull(client([{"error": "denied"}]), "x:1", "triton", lambda *_: None)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Error while fetching server API version: ('Connection aborted.', PermissionError(13, 'Permission denied'))",
         "join the group docker"),
        ("Error while fetching server API version: ('Connection aborted.', FileNotFoundError(2, 'No such file'))",
         "start it"),
    ],
)  # fmt: skip
def test_no_rights_are_told_from_no_daemon(said: str, told: str) -> None:
    assert told in " ".join(daemon_fault(said))


def contained(tmp_path: Path, **settings: Any) -> ServerContainer:
    spec = Server("t", "triton", runtime="container", **settings)
    return ServerContainer(spec, "an/image:1", "/models", tmp_path / "server.log", lambda *_: None)


def test_a_gpu_is_asked_for_with_pinned_memory_without_limit(tmp_path: Path) -> None:
    server = contained(tmp_path, device="gpu")
    options = server._options(Launch(("tritonserver", "--x=1"), {}, tmp_path, {"http": 8000}, tmp_path, 2**28))
    (request,) = options["device_requests"]
    assert request["Capabilities"] == [["gpu"]]
    assert {limit["Name"]: limit["Hard"] for limit in options["ulimits"]} == {"stack": 64 * 2**20, "memlock": -1}
    assert options["ports"] == {"8000/tcp": ("127.0.0.1", 8000)}
    assert (options["entrypoint"], options["command"]) == (["tritonserver"], ["--x=1"])
    assert options["shm_size"] == 2**28
    assert [mount["ReadOnly"] for mount in options["mounts"]] == [False, True]
    assert "privileged" not in options
    server.stop()
    assert contained(tmp_path)._options(Launch(("x",), {}, tmp_path, {}))["device_requests"] is None


def test_an_image_for_another_architecture_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = SimpleNamespace(id="sha256:1", attrs={"Architecture": "arm64", "RepoDigests": []})
    daemon = SimpleNamespace(images=SimpleNamespace(get=lambda _: image), version=lambda: {"Arch": "amd64"})
    monkeypatch.setattr(container, "connect", lambda _: daemon)
    with pytest.raises(ServerError, match="the image an/image:1 is for arm64, this machine is amd64"):
        contained(tmp_path).start(Launch(("x",), {}, tmp_path, {}))


def test_without_a_daemon_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(**_: Any) -> Any:
        raise DockerException("FileNotFoundError(2)")

    monkeypatch.setattr(docker, "from_env", refuses)
    with pytest.raises(ServerError, match=r"t: no Docker daemon answers: start it .*doctor"):
        container.connect("t")
    assert container.remove_containers("00000000") == ()


def test_an_image_that_is_nowhere_is_pulled_and_then_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> Any:
        raise ImageNotFound("No such image")

    api = SimpleNamespace(pull=lambda *_, **__: iter([{"error": "connection refused"}]))
    daemon = SimpleNamespace(images=SimpleNamespace(get=absent), api=api)
    monkeypatch.setattr(container, "connect", lambda _: daemon)
    with pytest.raises(ServerError, match="cannot be pulled: connection refused"):
        contained(tmp_path).start(Launch(("x",), {}, tmp_path, {}))


def test_shared_memory_grows_with_instances_batch_and_payload(tmp_path: Path) -> None:
    def repository(name: str, instances: int, rows: int, numbers: int) -> Path:
        folder = tmp_path / name / "model"
        folder.mkdir(parents=True)
        text = f"max_batch_size: {rows}\ninput {{ dims: {numbers} }}\ninstance_group {{ count: {instances} }}\n"
        (folder / "config.pbtxt").write_text(text)
        return tmp_path / name

    small = triton_memory.shared_bytes(repository("small", 1, 1, 1))
    assert 256 * 2**20 < small < 300 * 2**20
    large = triton_memory.shared_bytes(repository("large", 4, 64, 150_528))
    assert large - triton_memory.LEAST >= 4 * 64 * 150_528 * 4 * 2


def test_an_image_that_is_built_here_is_never_pulled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> Any:
        raise ImageNotFound("No such image")

    monkeypatch.setattr(container, "connect", lambda _: SimpleNamespace(images=SimpleNamespace(get=absent)))
    spec = Server("t", "triton", runtime="container")
    server = ServerContainer(spec, "serve-bench/tritonserver:cpu", "/models", tmp_path / "server.log", lambda *_: None)
    with pytest.raises(ServerError, match="is built here and is not there yet: make images"):
        server.start(Launch(("x",), {}, tmp_path, {}))


def test_a_daemon_of_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://10.0.0.1:2375")
    with pytest.raises(ServerError, match=r"DOCKER_HOST is tcp://10.0.0.1:2375"):
        container.connect("t")
