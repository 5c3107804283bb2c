"""JSON client of a remote segmenter: one HTTP request with a limit on its whole time and size."""

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2

from quartet_perception.errors import SegmenterAnswerError, SegmenterTimeoutError, SegmenterUnavailableError
from quartet_process.bounded_answers import AnswerTooLongError, BoundedTransport
from quartet_process.tracing import trace_headers

CONNECT_TIMEOUT_S = 5.0


class Endpoint:
    """An HTTP endpoint that takes and returns JSON; errors call it `what` and name the variable `setting`."""

    def __init__(
        self, url: str, *, what: str, setting: str, key: str | Callable[[], str | None] | None = None, max_bytes: int
    ) -> None:
        """`key` is the bearer token, or a function that returns the one that is valid now."""
        self._key = key if callable(key) else lambda: key
        parts = urlsplit(url)
        self.url, self._max_bytes, self._setting = url, max_bytes, setting
        # Without user, password and query, which may hold secrets.
        self._name = f"{what} at {parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        # A bare context for plain HTTP: loading the certificate store would cost 30 ms.
        secure = parts.scheme == "https"
        self._tls = ssl.create_default_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def post(self, body: Any, headers: Mapping[str, str], deadline: float) -> Any:
        """Return the JSON of the answer. `deadline`: time.monotonic() by which all of it must have arrived.

        Called in a thread without an event loop. Raises SegmenterTimeoutError, SegmenterUnavailableError,
        SegmenterAnswerError.
        """
        began = time.monotonic()
        left = deadline - began
        if left <= 0:
            raise SegmenterTimeoutError(f"no time is left to ask {self._name} (QUARTET_SEGMENTER_TIMEOUT_S)")
        try:
            # An event loop, since only it can end a request at a moment, whatever drips: a header, too.
            response = asyncio.run(self._ask(body, headers, left))
        except AnswerTooLongError as error:
            raise SegmenterAnswerError(f"{self._name}: {error}; no more of it is taken") from error
        except httpx2.ConnectTimeout as error:
            raise self._unreachable(error) from error
        except (httpx2.TimeoutException, TimeoutError) as error:
            raise SegmenterTimeoutError(
                f"{self._name} gave no answer within {time.monotonic() - began:.1f} s; try again, or give it longer "
                "with QUARTET_SEGMENTER_TIMEOUT_S"
            ) from error
        except httpx2.TransportError as error:
            raise self._unreachable(error) from error
        except httpx2.HTTPError as error:
            raise SegmenterAnswerError(f"{self._name} answered in a way that cannot be read: {error}") from error
        if not response.is_success:
            raise SegmenterUnavailableError(f"{self._name} answered {response.status_code}: {_said(response.content)}")
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError) as error:
            raise SegmenterAnswerError(
                f"{self._name} answered something that is not JSON: {response.content[:120]!r}"
            ) from error

    async def _ask(self, body: Any, headers: Mapping[str, str], left_s: float) -> httpx2.Response:
        key = self._key()
        signed = {**trace_headers(), **headers, **({"Authorization": f"Bearer {key}"} if key else {})}
        limits = httpx2.Timeout(left_s, connect=min(left_s, CONNECT_TIMEOUT_S))
        transport = BoundedTransport(httpx2.AsyncHTTPTransport(verify=self._tls, trust_env=False), self._max_bytes)
        async with (
            asyncio.timeout(left_s),
            httpx2.AsyncClient(transport=transport, timeout=limits, trust_env=False) as http,
        ):
            return await http.post(self.url, json=body, headers=signed)

    def _unreachable(self, error: Exception) -> SegmenterUnavailableError:
        return SegmenterUnavailableError(
            f"no connection to {self._name} ({type(error).__name__}: {error}); start it, or set {self._setting} to "
            "where it listens"
        )


def _said(raw: bytes) -> str:
    """Return the text of an error's body, in one line."""
    try:
        body = json.loads(raw)
        error = body.get("error", body.get("detail", body))
        text = error.get("message", error) if isinstance(error, dict) else error
    except (ValueError, RecursionError, AttributeError):
        text = raw[:300].decode(errors="replace")
    return " ".join(str(text).split())[:400] or "no text"
