"""Small programs in place of servers. Whatever they start must be gone when `stop` returns."""

from __future__ import annotations

import os
import signal
import socket
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from bench.errors import ServerError
from bench.servers import process as module
from bench.servers.process import LOOPBACK, Launch, ServerProcess, claim_ports, interrupts_deferred

Started = Callable[..., ServerProcess]

SLEEPS = "import time; print('up', flush=True); time.sleep(600)"
DEAF = """
    import signal, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("up", flush=True)
    time.sleep(600)
"""
# The first child is deaf to SIGTERM, the second has a child of its own.
FAMILY = """
    import os, signal, time
    def child(deaf, grandchild):
        if os.fork():
            return
        if deaf:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if grandchild:
            child(False, False)
        os.write(1, f"pid {os.getpid()}\\n".encode())
        time.sleep(600)
        os._exit(0)
    child(True, False)
    child(False, True)
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """Starts a program and waits for its first words; whatever a test leaves running is ended after it."""
    made: list[ServerProcess] = []

    def start(program: str, says: str = "up", lines: int = 1, **environment: str) -> ServerProcess:
        server = ServerProcess("dummy", tmp_path / "servers" / "server.log")
        made.append(server)
        command = (sys.executable, "-c", textwrap.dedent(program))
        server.start(Launch(command, environment, server.folder, {}))
        until(lambda: server.log_text().count(says) >= lines)
        return server

    yield start
    for server in made:
        server.stop()


def until(holds: Callable[[], bool], patience_s: float = 20.0) -> None:
    deadline = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


def leader(server: ServerProcess) -> int:
    assert server._process is not None
    return server._process.pid


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def told_pids(server: ServerProcess) -> list[int]:
    return [int(line.split()[1]) for line in server.log_text().splitlines() if line.startswith("pid ")]


def test_a_stopped_server_is_gone_and_so_is_its_folder(started: Started) -> None:
    server = started(SLEEPS)
    pid, folder = leader(server), server.folder
    assert lives(pid)
    assert folder.is_dir()
    server.check_alive()
    server.stop()
    assert not lives(pid)
    assert not folder.exists()
    assert server.log_text() == "up\n"


def test_stopping_twice_or_before_the_start_does_nothing(started: Started, tmp_path: Path, temporary: Path) -> None:
    server = started(SLEEPS)
    server.stop()
    server.stop()
    never = ServerProcess("never", tmp_path / "never.log")
    never.check_alive()
    never.stop()
    assert list(temporary.iterdir()) == []


def test_a_server_that_ignores_sigterm_is_killed(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TERM_PATIENCE_S", 0.3)
    server = started(DEAF)
    pid = leader(server)
    server.stop()
    assert not lives(pid)


def test_a_server_is_given_time_to_end_by_itself(started: Started) -> None:
    server = started(
        """
        import signal, sys, time
        def end(*_):
            time.sleep(0.3)
            print("ended well", flush=True)
            sys.exit()
        signal.signal(signal.SIGTERM, end)
        print("up", flush=True)
        time.sleep(600)
        """
    )
    server.stop()
    assert server.log_text().splitlines() == ["up", "ended well"]


def test_children_and_grandchildren_end_with_the_server(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TERM_PATIENCE_S", 0.5)
    server = started(FAMILY + "    time.sleep(600)\n", says="pid ", lines=3)
    pids = [leader(server), *told_pids(server)]
    assert len(set(pids)) == 4
    assert all(lives(pid) for pid in pids)
    server.stop()
    until(lambda: not any(lives(pid) for pid in pids))


def test_children_left_by_a_server_that_died_end_too(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TERM_PATIENCE_S", 0.5)
    server = started(FAMILY + "    time.sleep(0.5)\n    os._exit(3)\n", says="pid ", lines=3)
    pids = told_pids(server)
    with pytest.raises(ServerError, match="exited with status 3"):
        until(lambda: server.check_alive() is not None)
    assert all(lives(pid) for pid in pids)
    server.stop()
    until(lambda: not any(lives(pid) for pid in pids))


def test_no_other_process_is_ended(started: Started) -> None:
    one, other = started(SLEEPS), started(SLEEPS, lines=2)
    one.stop()
    assert lives(leader(other))
    other.check_alive()


def test_a_server_that_dies_early_is_told_with_its_status_and_the_end_of_its_log(started: Started) -> None:
    server = started("print('\\n'.join(f'line {i}' for i in range(40))); print('no model'); raise SystemExit(7)", "no")
    with pytest.raises(ServerError) as caught:
        until(lambda: server.check_alive() is not None)
    assert caught.value.message == f"dummy: the server exited with status 7. Full log: {server.log}"
    tail = caught.value.detail.splitlines()
    assert (tail[0], tail[-1], len(tail)) == ("line 16", "no model", 25)


def test_a_server_that_was_killed_is_told_with_the_signal(started: Started) -> None:
    server = started("import os, signal; print('up', flush=True); os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(ServerError, match="dummy: the server was killed by SIGKILL"):
        until(lambda: server.check_alive() is not None)


def test_a_program_that_is_not_there_is_named(tmp_path: Path, temporary: Path) -> None:
    server = ServerProcess("dummy", tmp_path / "server.log")
    with pytest.raises(ServerError, match=r"dummy: /nowhere/tritonserver could not be started"):
        server.start(Launch(("/nowhere/tritonserver",), {}, server.folder, {}))
    server.stop()
    assert list(temporary.iterdir()) == []


def test_a_server_has_its_environment_its_folder_and_nothing_to_read(started: Started) -> None:
    server = started("import os, sys; print(os.environ['MINE'], os.getcwd(), repr(sys.stdin.read()))", "'", MINE="yes")
    assert server.log_text().split() == ["yes", str(server.folder), "''"]


def test_what_a_server_says_on_either_stream_is_added_to_the_log(started: Started) -> None:
    started("import sys; print('out up', flush=True); print('err up', file=sys.stderr)", lines=2)
    server = started(SLEEPS, lines=3)
    assert server.log_text().splitlines() == ["out up", "err up", "up"]
    assert server.log_tail(2).splitlines() == ["err up", "up"]


def test_a_log_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    server = ServerProcess("dummy", tmp_path / "none.log")
    assert server.log_tail().startswith("(the log cannot be read: ")
    assert server.log_text() == ""
    server.stop()


def test_lines_that_explain_nothing_are_left_out_of_the_tail(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("one\nACCESS_LOG - GET /ping\ntwo\nACCESS_LOG - GET /ping\n")
    server = ServerProcess("dummy", tmp_path / "server.log", ("ACCESS_LOG",))
    assert server.log_tail(2) == "one\ntwo"
    server.stop()


def test_a_port_is_held_by_the_server_that_listens_on_it_and_by_no_other(started: Started) -> None:
    listens = """
        import os, socket, time
        s = socket.create_server(("127.0.0.1", 0))
        if os.fork():  # a child inherits it, as a worker may
            s.close()
        else:
            print("port", s.getsockname()[1], flush=True)
        time.sleep(600)
    """
    server = started(listens, says="\n")
    port = int(server.log_text().split()[1])
    assert server.holds_port(port)
    other = started(SLEEPS)
    assert not other.holds_port(port)
    with socket.create_server((LOOPBACK, 0)) as mine:
        assert not server.holds_port(mine.getsockname()[1])
    server.stop()
    assert not server.holds_port(port)


def test_ctrl_c_during_a_stop_waits_until_nothing_is_left(started: Started, temporary: Path) -> None:
    server = started(
        f"""
        import os, signal, sys, time
        def end(*_):
            os.kill({os.getpid()}, signal.SIGINT)  # as if the user lost patience
            time.sleep(0.3)
            sys.exit()
        signal.signal(signal.SIGTERM, end)
        print("up", flush=True)
        time.sleep(600)
        """
    )
    pid = leader(server)
    with pytest.raises(KeyboardInterrupt):
        server.stop()
    assert not lives(pid)
    assert list(temporary.iterdir()) == []


# Two children that live until they are killed.
WORKERS = """
    import os, time
    for _ in range(2):
        if not os.fork():
            os.write(1, f"pid {os.getpid()}\\n".encode())
            time.sleep(600)
            os._exit(0)
    time.sleep(600)
"""


def test_a_remembered_worker_that_died_is_named(started: Started) -> None:
    server = started(WORKERS, says="pid ", lines=2)
    killed, spared = told_pids(server)
    server.remember_workers()
    server.check_alive()
    os.kill(killed, signal.SIGKILL)
    until(lambda: not lives(killed))
    with pytest.raises(ServerError) as caught:
        server.check_alive()
    assert caught.value.message.startswith(f"dummy: its worker {killed} has died: ")
    assert caught.value.message.endswith(f"Full log: {server.log}")
    assert f"pid {spared}" in caught.value.detail
    assert lives(leader(server))


def test_a_worker_that_was_forgotten_or_never_remembered_may_end(started: Started) -> None:
    server = started(WORKERS, says="pid ", lines=2)
    first, second = told_pids(server)
    os.kill(first, signal.SIGKILL)
    until(lambda: not lives(first))
    server.check_alive()
    server.remember_workers()
    server.forget_workers()
    os.kill(second, signal.SIGKILL)
    until(lambda: not lives(second))
    server.check_alive()


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_signals_that_are_only_told_are_not_raised_again(which: signal.Signals) -> None:
    before = signal.getsignal(which)
    with interrupts_deferred(again=False) as came:
        assert came == []
        signal.raise_signal(which)
        signal.raise_signal(which)
        assert came == [which, which]
    assert came == [which, which]
    assert signal.getsignal(which) is before


def test_a_deferred_interrupt_is_raised_again_after_the_block() -> None:
    seen: list[list[int]] = []

    def block() -> None:
        with interrupts_deferred() as came:
            signal.raise_signal(signal.SIGINT)
            seen.append(list(came))  # reached: nothing was raised inside

    with pytest.raises(KeyboardInterrupt):
        block()
    assert seen == [[signal.SIGINT]]


# ---- ports


def test_ports_that_are_not_asked_for_are_free_ones_and_all_different() -> None:
    ports = claim_ports({}, ("http", "grpc", "metrics"), "triton")
    assert list(ports) == ["http", "grpc", "metrics"]
    assert len(set(ports.values())) == 3
    for port in ports.values():
        with socket.create_server((LOOPBACK, port)):
            pass


def test_an_asked_port_that_is_free_is_given() -> None:
    with socket.create_server((LOOPBACK, 0)) as probe:
        free = probe.getsockname()[1]
    ports = claim_ports({"grpc": free}, ("http", "grpc"), "triton")
    assert ports["grpc"] == free
    assert ports["http"] != free


@pytest.mark.parametrize("address", [LOOPBACK, "0.0.0.0"])
def test_a_port_that_is_taken_is_named_with_its_purpose_and_its_holder(address: str) -> None:
    with socket.create_server((address, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServerError) as caught:
            claim_ports({"metrics": port}, ("http", "metrics"), "triton")
    message = caught.value.message
    assert message.startswith(f"triton: port {port} (ports.metrics) is not free: Address already in use")
    assert f"held by process {os.getpid()} (" in message
    assert message.endswith("End that process, or leave the port out to get a free one")


def test_a_port_that_the_system_refuses_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    # 192.0.2.0/24 is for documentation: no machine has such an address.
    monkeypatch.setattr(module, "LOOPBACK", "192.0.2.1")
    with pytest.raises(ServerError, match=r"triton: port 7999 \(ports\.http\) is not free"):
        claim_ports({"http": 7999}, ("http",), "triton")


def test_no_port_stays_claimed_after_an_error() -> None:
    with socket.create_server((LOOPBACK, 0)) as probe:
        free = probe.getsockname()[1]
    with socket.create_server((LOOPBACK, 0)) as taken, pytest.raises(ServerError):
        claim_ports({"http": free, "grpc": taken.getsockname()[1]}, ("http", "grpc"), "triton")
    with socket.create_server((LOOPBACK, free)):
        pass
