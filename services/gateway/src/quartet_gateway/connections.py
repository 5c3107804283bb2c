"""Connections to providers: limits for making one and for an answer, and probes that find a peer that has vanished.

An answer comes as a whole when the model has thought, so that silence alone tells nothing before `retries.timeout_s`.
"""

import asyncio
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, cast

import httpx

from quartet_gateway.local_answers import normalize
from quartet_process.proxies import uses_proxy

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.connector import AddrInfoType
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

CONNECT_S = 5.0
"""Time-out of making a connection, the look-up of its address included [s]; else it is that of the whole try."""
IDLE_S = 10
"""Silence after which the operating system asks the peer whether it is there [s]."""
PROBE_EVERY_S = 5
PROBES = 3
MOST_BYTES = 16 * 1024 * 1024
"""Of an answer: far more than any model writes, with its thoughts and their signatures."""
UNACKNOWLEDGED_S = 25
"""After this, a connection whose peer has not taken what was sent is broken [s]."""


def socket_options() -> list[tuple[int, int, int]]:
    """Return the options of a connection, those that this operating system has; `man 7 tcp` describes them."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (
        ("TCP_KEEPIDLE", IDLE_S),
        ("TCP_KEEPINTVL", PROBE_EVERY_S),
        ("TCP_KEEPCNT", PROBES),
        ("TCP_USER_TIMEOUT", 1000 * UNACKNOWLEDGED_S),
    ):
        if (option := getattr(socket, name, None)) is not None:
            options.append((socket.IPPROTO_TCP, option, value))
    return options


def open_socket(address: "AddrInfoType") -> socket.socket:
    """Return a socket for a connection to `address`, with these options."""
    family, kind, protocol, *_ = address
    opened = socket.socket(family, kind, protocol)
    for option in socket_options():
        opened.setsockopt(*option)
    return opened


def open_session(verify: ssl.SSLContext | bool) -> "aiohttp.ClientSession":
    """Return a session without cookies, whose servers are checked by `verify`; False: they are not."""
    # Imported with LiteLLM, after the settings have been checked.
    import aiohttp

    connector = aiohttp.TCPConnector(ssl=verify, limit=0, socket_factory=open_socket)
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())


class ProviderTransport(httpx.AsyncBaseTransport):
    """Transport of httpx with these limits, over `inner`, LiteLLM's transport on a session of `open_session`.

    It uses a proxy of the environment only for a host outside the site.
    """

    def __init__(self, inner: "LiteLLMAiohttpTransport") -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """See httpx.AsyncBaseTransport."""
        timeout = dict(request.extensions.get("timeout") or {})
        # To aiohttp the look-up of the address belongs to what httpx calls the pool.
        for step in ("connect", "pool"):
            allowed = timeout.get(step)
            timeout[step] = CONNECT_S if allowed is None else min(allowed, CONNECT_S)
        request.extensions = {**request.extensions, "timeout": timeout}
        request.headers["Accept-Encoding"] = "identity"
        host = request.url.host
        if host not in self._inner.proxy_cache and not await asyncio.to_thread(uses_proxy, str(request.url)):
            self._inner.proxy_cache[host] = None
        try:
            response = await self._inner.handle_async_request(request)
        except httpx.ConnectError as error:
            import aiohttp

            # LiteLLM's transport says so of a connection too that broke after it was made.
            if isinstance(error.__cause__, aiohttp.ClientConnectorError):
                raise
            raise httpx.ReadError(str(error)) from error.__cause__
        # Some proxy in front of a provider compresses though it was asked not to. httpx would unpack without a limit.
        encoding = response.headers.pop("content-encoding", "identity").lower()
        if encoding not in _ENCODINGS:
            await response.aclose()
            raise httpx.RemoteProtocolError(f"the answer is compressed ({encoding}), which was not asked for")
        unpacked = encoding != "identity"
        if unpacked:
            response.headers.pop("content-length", None)
        response.stream = _BoundedStream(cast(httpx.AsyncByteStream, response.stream), unpacked=unpacked)
        is_completion = response.is_success and request.url.path.endswith("/chat/completions")
        return await _normalized(response) if is_completion else response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


async def _normalized(response: httpx.Response) -> httpx.Response:
    """Return the chat completion in `response` in OpenAI's format."""
    try:
        status, body = normalize(await response.aread())
    finally:
        await response.aclose()
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in _LENGTHS]
    return httpx.Response(status, headers=headers, content=body, extensions=response.extensions)


_LENGTHS = frozenset({"content-length", "transfer-encoding"})
_ENCODINGS = frozenset({"identity", "gzip", "x-gzip", "deflate"})
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_PART = 65_536
"""Bytes that are unpacked at once."""


class _BoundedStream(httpx.AsyncByteStream):
    """The body of an answer, unpacked where it is compressed, up to MOST_BYTES.

    Raises httpx.RemoteProtocolError for a longer one, and for one that cannot be unpacked.
    """

    def __init__(self, inner: httpx.AsyncByteStream, *, unpacked: bool) -> None:
        self._inner, self._unpacked = inner, unpacked

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        unpacking = zlib.decompressobj(_GZIP_OR_ZLIB) if self._unpacked else None
        async for chunk in self._inner:
            for part in (chunk,) if unpacking is None else _parts(unpacking, chunk):
                left -= len(part)
                if left < 0:
                    raise httpx.RemoteProtocolError(f"the answer is longer than {MOST_BYTES} bytes")
                yield part
        if unpacking is not None and not unpacking.eof:
            raise httpx.RemoteProtocolError("the answer is compressed and breaks off")

    async def aclose(self) -> None:
        await self._inner.aclose()


def _parts(unpacking: "zlib._Decompress", packed: bytes) -> Iterator[bytes]:
    """Yield what a chunk unpacks to, a little at once. Raises httpx.RemoteProtocolError."""
    while packed:
        try:
            yield unpacking.decompress(packed, _PART)
        except zlib.error as error:
            raise httpx.RemoteProtocolError(f"the answer is compressed and cannot be unpacked: {error}") from error
        packed = unpacking.unconsumed_tail
