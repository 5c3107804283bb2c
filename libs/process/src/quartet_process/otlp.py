"""The OpenTelemetry SDK and its OTLP exporter: imported only by a process that sends traces."""

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_NAMESPACE, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def export_spans(process: str) -> None:
    """Send all spans of this process over OTLP/HTTP, in batches from a thread of their own.

    OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES prevail over the names given here.
    """
    names = Resource({SERVICE_NAME: process, SERVICE_NAMESPACE: "quartet"})
    provider = TracerProvider(resource=names.merge(Resource.create()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
