"""The control plane's HTTP: small questions to one server on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import urllib3


@dataclass(frozen=True, slots=True)
class Answer:
    """HTTP status (0: no answer came) and body, or the reason why none came."""

    status: int
    text: str

    @property
    def ok(self) -> bool:
        return self.status == 200

    def json(self) -> Any:
        return json.loads(self.text)


class Control:
    """Keep-alive connections to one port."""

    def __init__(self, host: str, port: int, connections: int = 1) -> None:
        self._pool = urllib3.HTTPConnectionPool(host, port, maxsize=connections, retries=False)

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] | None = None,
        *,
        body: object = None,
        timeout_s: float = 10.0,
    ) -> Answer:
        """One request, with a JSON body if any; a failed connection is Answer(0, …), as a starting server refuses."""
        target = f"{path}?{urlencode(query)}" if query else path
        try:
            answer = self._pool.request(
                method, target, body=None if body is None else json.dumps(body), timeout=timeout_s
            )
        except urllib3.exceptions.HTTPError as error:
            return Answer(0, str(error))
        return Answer(answer.status, answer.data.decode("utf-8", errors="replace"))

    def close(self) -> None:
        self._pool.close()
