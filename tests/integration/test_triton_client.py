"""Triton's client against the Triton stub."""

from __future__ import annotations

import asyncio

import numpy as np
import stubs
import uvloop

from bench.clients.http_pool import HttpPool
from bench.clients.triton_http import error_cause, infer_request, parse_infer_response


def test_tensors_go_to_triton_and_back() -> None:
    batch = np.arange(12, dtype=np.float32).reshape(4, 3)

    async def main() -> None:
        async with stubs.serving(stubs.triton()) as stub:
            pool = HttpPool(stub.host, stub.port)
            request = infer_request("m", {"IN": batch, "N": np.array([5])}, ["OUT", "COUNT"], stub.address)
            found = parse_infer_response(await pool.request(request))
            assert np.array_equal(found["OUT"], batch)
            assert found["COUNT"].tolist() == [5]
            await pool.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def test_a_full_queue_is_told_as_such() -> None:
    async def main() -> None:
        async with stubs.serving(stubs.triton(overhead_s=0.02, max_batch=1, queue_size=2)) as stub:
            pool = HttpPool(stub.host, stub.port)
            request = infer_request("m", {"IN": np.zeros((1, 3), np.float32)}, ["OUT"], stub.address)
            found = [error_cause(o) for o in await asyncio.gather(*(pool.request(request) for _ in range(6)))]
            assert (found.count(""), found.count("queue full")) == (3, 3)
            await pool.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
