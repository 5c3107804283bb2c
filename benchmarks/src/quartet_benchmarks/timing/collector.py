"""A collector of traces: takes spans over OTLP and HTTP, as the processes of a stack send them."""

import gzip
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Span:
    """A span as the collector gets it."""

    service: str
    """Process that sent it."""
    name: str
    trace: str
    span: str
    parent: str
    """Id of the span that it is in; empty: it is the root of its trace."""
    kind: int = 1
    """SpanKind of OTLP: 1 internal, 2 server, 3 client."""
    start_ns: int = 0
    end_ns: int = 0
    """Unix time [ns]."""
    attributes: dict[str, Any] = field(default_factory=dict)


class Collector:
    """Takes spans at `url` until it is closed."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.spans += spans_of(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Stay silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Collector":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening; what has arrived stays."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def of_trace(self, trace: str) -> list[Span]:
        """Return the spans of one trace that have arrived so far."""
        return [one for one in list(self.spans) if one.trace == trace]


def spans_of(request: ExportTraceServiceRequest) -> Iterator[Span]:
    """Yield the spans of one message."""
    for resource in request.resource_spans:
        service = values_of(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for one in scope.spans:
                yield Span(
                    service,
                    one.name,
                    one.trace_id.hex(),
                    one.span_id.hex(),
                    one.parent_span_id.hex(),
                    one.kind,
                    one.start_time_unix_nano,
                    one.end_time_unix_nano,
                    values_of(one.attributes),
                )


def values_of(attributes: Any) -> dict[str, Any]:
    """Return attributes of OTLP as a dictionary."""
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in attributes}
