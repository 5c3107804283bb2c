"""JSON client of a remote segmenter: one HTTP request with a limit on its whole time and size."""

import json
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2

from quartet_perception.errors import SegmenterAnswerError, SegmenterTimeoutError, SegmenterUnavailableError
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
        self._http = httpx2.Client(
            verify=ssl.create_default_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            trust_env=False,
        )

    def post(self, body: Any, headers: Mapping[str, str], deadline: float) -> Any:
        """Return the JSON of the answer. `deadline`: time.monotonic() by which all of it must have arrived.

        Raises SegmenterTimeoutError, SegmenterUnavailableError, SegmenterAnswerError.
        """
        began = time.monotonic()
        left = deadline - began
        if left <= 0:
            raise SegmenterTimeoutError(f"no time is left to ask {self._name} (QUARTET_SEGMENTER_TIMEOUT_S)")
        try:
            limits = httpx2.Timeout(left, connect=min(left, CONNECT_TIMEOUT_S))
            key = self._key()
            signed = {**trace_headers(), **headers, **({"Authorization": f"Bearer {key}"} if key else {})}
            with self._http.stream("POST", self.url, json=body, headers=signed, timeout=limits) as response:
                raw = self._read(response, deadline)
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
            raise SegmenterUnavailableError(f"{self._name} answered {response.status_code}: {_said(raw)}")
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise SegmenterAnswerError(f"{self._name} answered something that is not JSON: {raw[:120]!r}") from error

    def _read(self, response: httpx2.Response, deadline: float) -> bytes:
        raw = bytearray()
        for chunk in response.iter_bytes():
            raw += chunk
            if len(raw) > self._max_bytes:
                raise SegmenterAnswerError(
                    f"{self._name} answered more than the {self._max_bytes} bytes that are taken"
                )
            if time.monotonic() > deadline:
                raise TimeoutError
        return bytes(raw)

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
