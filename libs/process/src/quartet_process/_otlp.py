"""The OpenTelemetry SDK and its OTLP exporter: imported only by a process that sends traces."""

import os

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.environment_variables import OTEL_SERVICE_NAME
from opentelemetry.sdk.resources import SERVICE_NAMESPACE, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def export_spans(process: str) -> None:
    """Send all spans of this process over OTLP/HTTP, in batches from a thread of their own.

    OTEL_SERVICE_NAME prevails over the name given here.
    """
    os.environ.setdefault(OTEL_SERVICE_NAME, process)
    provider = TracerProvider(resource=Resource.create({SERVICE_NAMESPACE: "quartet"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
