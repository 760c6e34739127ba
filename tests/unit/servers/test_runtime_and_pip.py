"""The runtime's folder and pip, without a network: a program in place of pip's Python says what it is told to."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest

from bench.errors import ServerError
from bench.progress import silent
from bench.servers import runtime as module
from bench.servers.pip import ACCEPT_VARIABLE, Pip
from bench.servers.runtime import PINS_FILE, Runtime, cache_folder, ensure_runtime, find_fault


@pytest.fixture(autouse=True)
def nothing_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ACCEPT_VARIABLE, raising=False)


def make(runtime: Runtime) -> None:
    """A runtime of three files that is as its list says."""
    runtime.python.parent.mkdir(parents=True)
    runtime.python.write_text("#!/bin/sh\n")
    runtime.python.chmod(0o755)
    (runtime.root / "a.so").write_bytes(b"library")
    (runtime.root / "b.txt").write_text("text")
    files = {}
    for name in ("a.so", "b.txt", "venv/bin/python"):
        status = (runtime.root / name).stat()
        files[name] = [status.st_size, status.st_mtime_ns]
    (runtime.root / "runtime.json").write_text(json.dumps({"pins": "", "files": files}))


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    made = Runtime(tmp_path / "runtime")
    make(made)
    return made


def test_a_runtime_as_it_was_made_has_no_fault(runtime: Runtime) -> None:
    assert find_fault(runtime) == ""


def test_a_file_that_was_not_part_of_it_is_no_fault(runtime: Runtime) -> None:
    (runtime.root / "c.pyc").write_bytes(b"compiled later")
    assert find_fault(runtime) == ""


def test_a_runtime_that_is_not_there_is_not_made_yet(tmp_path: Path) -> None:
    assert find_fault(Runtime(tmp_path / "none")) == "not made yet"


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}", '{"pins": ""}'])
def test_a_runtime_without_its_list_of_files_is_half_made(runtime: Runtime, text: str | None) -> None:
    (runtime.root / "runtime.json").unlink()
    if text is not None:
        (runtime.root / "runtime.json").write_text(text)
    assert find_fault(runtime) == "half made"


def test_a_missing_file_is_named(runtime: Runtime) -> None:
    (runtime.root / "b.txt").unlink()
    assert find_fault(runtime) == "b.txt is missing"


def test_a_file_of_another_size_is_named(runtime: Runtime) -> None:
    (runtime.root / "a.so").write_bytes(b"library, longer")
    assert find_fault(runtime) == "a.so was changed"


def test_a_file_that_was_written_again_is_named(runtime: Runtime) -> None:
    import os

    status = (runtime.root / "a.so").stat()
    (runtime.root / "a.so").write_bytes(b"LIBRARY")  # the same size
    os.utime(runtime.root / "a.so", ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert find_fault(runtime) == "a.so was changed"


def test_a_python_that_cannot_be_run_is_named(runtime: Runtime) -> None:
    runtime.python.chmod(0o644)
    assert find_fault(runtime) == f"{runtime.python} cannot be run"


def test_a_runtime_is_made_once_and_anew_when_it_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    makes: list[bool] = []

    def made(runtime: Runtime, _tell: object) -> None:
        makes.append(runtime.root.exists())
        make(runtime)

    monkeypatch.setattr(module, "_make", made)
    said: list[str] = []
    first = ensure_runtime(tmp_path, lambda text, _fraction: said.append(text))
    assert ensure_runtime(tmp_path, silent) == first
    assert makes == [False]
    (first.root / "a.so").unlink()
    (first.root / "rubbish").write_text("")
    ensure_runtime(tmp_path, lambda text, _fraction: said.append(text))
    assert makes == [False, False]  # the broken one was removed before
    assert not (first.root / "rubbish").exists()
    assert said[-1] == "server runtime: a.so is missing; making it anew"


def test_a_runtime_that_cannot_be_written_says_how_to_move_it(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(ServerError) as caught:
        ensure_runtime(tmp_path / "taken", silent)
    assert str(tmp_path / "taken") in caught.value.message
    assert caught.value.message.endswith("move it with SERVE_BENCH_CACHE")


def test_the_cache_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SERVE_BENCH_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.setenv("SERVE_BENCH_CACHE", "relative")
    assert cache_folder() == Path.cwd() / "relative"
    monkeypatch.delenv("SERVE_BENCH_CACHE")
    assert cache_folder().name == "serve-bench"


def test_every_pin_is_an_exact_version_and_torch_and_the_servers_are_among_them() -> None:
    lines = [line for line in PINS_FILE.read_text().splitlines() if line and not line.startswith("#")]
    assert all(line.count("==") == 1 for line in lines)
    names = {line.split("==")[0] for line in lines}
    assert {"torch", "torchserve", "nvidia-pytriton", "numpy"} <= names
    assert module._pin("numpy").startswith("numpy==1.")  # with numpy 2 Triton answers with tensors of size 0


# ---- pip


def pip(folder: Path, program: str, said: list[tuple[str, float | None]] | None = None) -> Pip:
    """pip in place of which a program runs."""
    python = folder / "python"
    python.write_text(f"#!{sys.executable}\n" + textwrap.dedent(program))
    python.chmod(0o755)
    heard = [] if said is None else said
    return Pip(python, lambda text, fraction: heard.append((text, fraction)))


def resolving(folder: Path, *packages: tuple[str, str]) -> Pip:
    """pip that would install these packages (name, address)."""
    report = {"install": [{"metadata": {"name": n}, "download_info": {"url": url}} for n, url in packages]}
    (folder / "report.json").write_text(json.dumps(report))
    program = f"""
    import shutil, sys
    print("as pip may say on the way")
    shutil.copy({str(folder / "report.json")!r}, sys.argv[sys.argv.index("--report") + 1])
    """
    return pip(folder, program)


def wheel(folder: Path, name: str, size: int) -> tuple[str, str]:
    """A wheel of some size in a folder, of which the disk holds nothing."""
    path = folder / f"{name} 1.whl"
    with path.open("wb") as stream:
        stream.truncate(size)
    return name, path.as_uri()


def test_cuda_libraries_that_nobody_asked_for_are_refused_with_their_number_and_size(tmp_path: Path) -> None:
    fake = resolving(
        tmp_path,
        wheel(tmp_path, "torch", 900_000_000),
        wheel(tmp_path, "nvidia-cublas", 500_400_000),
        wheel(tmp_path, "nvidia-cudnn", 800_000_000),
    )
    with pytest.raises(ServerError) as caught:
        fake.refuse_surprises("torch==2.13.0")
    message = caught.value.message
    assert message.startswith("torch==2.13.0 would be a CUDA build here: 3 packages, 2,200 MB to download")
    assert "PIP_EXTRA_INDEX_URL" in message
    assert "SERVE_BENCH_ACCEPT_CUDA_DOWNLOAD=yes" in message


def test_sizes_that_are_not_known_make_it_at_least_so_much(tmp_path: Path) -> None:
    fake = resolving(tmp_path, wheel(tmp_path, "nvidia-a", 3_000_000), ("torch", "ftp://127.0.0.1/torch.whl"))
    with pytest.raises(ServerError, match="2 packages, at least 3 MB to download"):
        fake.refuse_surprises("torch")


def test_no_size_known_at_all_is_said_too(tmp_path: Path) -> None:
    fake = resolving(tmp_path, ("nvidia-a", (tmp_path / "gone.whl").as_uri()))
    with pytest.raises(ServerError, match="1 packages, an unknown size to download"):
        fake.refuse_surprises("torch")


def test_cuda_libraries_that_were_accepted_are_no_surprise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ACCEPT_VARIABLE, "yes")
    resolving(tmp_path, wheel(tmp_path, "nvidia-a", 3_000_000)).refuse_surprises("torch")


@pytest.mark.parametrize("answer", ["", "no", "1"])
def test_only_yes_accepts_a_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setenv(ACCEPT_VARIABLE, answer)
    with pytest.raises(ServerError, match="3 MB"):
        resolving(tmp_path, wheel(tmp_path, "nvidia-a", 3_000_000)).refuse_surprises("torch")


def test_a_torch_for_the_cpu_is_no_surprise(tmp_path: Path) -> None:
    resolving(tmp_path, wheel(tmp_path, "torch", 10), wheel(tmp_path, "numpy", 10)).refuse_surprises("torch")


def test_nothing_is_installed_to_find_out(tmp_path: Path) -> None:
    program = f"""
    import sys
    open({str(tmp_path / "asked")!r}, "w").write(" ".join(sys.argv[1:]))
    open(sys.argv[sys.argv.index("--report") + 1], "w").write('{{"install": []}}')
    """
    pip(tmp_path, program).refuse_surprises("torch==2.13.0")
    asked = (tmp_path / "asked").read_text().split()
    assert asked[:2] == ["-m", "pip"]
    assert {"--dry-run", "--report", "--no-input", "torch==2.13.0"} <= set(asked)


def test_a_pip_that_finds_nothing_is_told_with_the_end_of_its_output(tmp_path: Path) -> None:
    fake = pip(tmp_path, "import sys; print('no such version', file=sys.stderr); raise SystemExit(1)")
    with pytest.raises(ServerError) as caught:
        fake.refuse_surprises("torch==99")
    assert caught.value.message == "pip install failed with exit status 1"
    assert caught.value.detail.strip() == "no such version"


INSTALLS = """
    import sys
    print(" ".join(sys.argv[1:]))
    print("Collecting numpy==1.26.4 (from -r pins.txt (line 1))")
    print("  Downloading numpy.whl (18 MB)")
    print("Processing ./torch.whl")
    print("Installing collected packages: numpy, torch")
"""


def test_the_pins_are_installed_without_anything_that_is_not_pinned(tmp_path: Path) -> None:
    pins = tmp_path / "pins.txt"
    pins.write_text("# two\nnumpy==1.26.4\ntorch==2.13.0\n")
    said: list[tuple[str, float | None]] = []
    asked = f"    open({str(tmp_path / 'asked')!r}, 'w').write(' '.join(sys.argv))\n"
    pip(tmp_path, INSTALLS + asked, said).install(pins)
    assert "--no-deps" in (tmp_path / "asked").read_text().split()
    (first, unknown), *steps = said
    assert (first, unknown) == ("server runtime: installing the pinned wheels", None)
    assert [text.partition(",")[0] for text, _ in steps] == [first] * 4  # one step, that goes on
    for (text, _), part in zip(steps, ("numpy==1.26.4", "numpy.whl (18 MB)", "torch.whl", "numpy, torch"), strict=True):
        assert part in text
    assert [fraction for _, fraction in steps] == [0.5, 0.5, 1.0, 1.0]


def test_an_installation_that_fails_is_told_with_the_end_of_its_output(tmp_path: Path) -> None:
    pins = tmp_path / "pins.txt"
    pins.write_text("numpy==1.26.4\n")
    fake = pip(tmp_path, "for i in range(30): print('line', i)\nraise SystemExit(2)")
    with pytest.raises(ServerError) as caught:
        fake.install(pins)
    assert caught.value.message == "pip install failed with exit status 2"
    assert caught.value.detail.splitlines()[0] == "line 10"
    assert caught.value.detail.splitlines()[-1] == "line 29"
