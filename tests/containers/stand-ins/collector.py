"""In place of an OpenTelemetry collector: takes spans over OTLP/HTTP and tells them at GET /spans.

Runs in an image of ours that has the SDK, whose messages it reads.
"""

import gzip
import http.server
import json
from collections.abc import Iterator

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SPANS: list[dict[str, str]] = []


def spans_of(request: ExportTraceServiceRequest) -> Iterator[dict[str, str]]:
    for resource in request.resource_spans:
        (service,) = [one.value.string_value for one in resource.resource.attributes if one.key == "service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                ids = {"trace": span.trace_id.hex(), "span": span.span_id.hex(), "parent": span.parent_span_id.hex()}
                yield {"service": service, "name": span.name, **ids}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.answer(json.dumps(SPANS).encode() if self.path == "/spans" else b"serving")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        SPANS.extend(spans_of(ExportTraceServiceRequest.FromString(body)))
        self.answer(b"")

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer(("", 4318), Handler).serve_forever()
