"""A collector of traces: takes spans over OTLP and HTTP, as the processes of a stack send them."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from quartet_benchmarks.serving import served
from quartet_benchmarks.timing.parts import Span


@dataclass(frozen=True)
class Collector:
    """A collector that takes spans."""

    url: str
    """Endpoint of OTLP, without the path of the traces."""
    spans: list[Span]
    """What has arrived so far; it stays when the collector is closed."""


@contextmanager
def collecting() -> Iterator[Collector]:
    """Take spans inside the block; yield the collector. Raises MeasurementError when its server does not start."""
    spans: list[Span] = []

    async def take(request: Request) -> Response:
        body = await request.body()
        if request.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        spans.extend(spans_of(ExportTraceServiceRequest.FromString(body)))
        return Response()

    with served(Starlette(routes=[Route("/v1/traces", take, methods=["POST"])])) as url:
        yield Collector(url, spans)


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
