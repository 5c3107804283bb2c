"""Traces: spans of a process, sent over OTLP if an endpoint is configured.

The SDK is imported only then; else a span costs next to nothing, and its trace id still goes along with every message,
so that logs can be put together by it. Names and attributes follow OpenTelemetry's conventions for generative AI,
version 1.41 (https://github.com/open-telemetry/semantic-conventions-genai). What models read and say is left out
unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is true.
"""

import logging
import os
import secrets
from collections.abc import Awaitable, Callable, Generator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.context import attach, detach
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from quartet_process._correlation import current_ids

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

OPERATION, AGENT, TOOL = "gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.tool.name"
PROVIDER, REQUEST_MODEL, RESPONSE_MODEL = "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model"
INPUT_TOKENS, OUTPUT_TOKENS = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
INPUT, OUTPUT, CONVERSATION = "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.conversation.id"
ERROR = "error.type"
COST, CODE, STATE, ATTEMPT = "quartet.cost_usd", "quartet.error_code", "quartet.state", "quartet.attempt"
ACTION, STATUS = "quartet.action", "quartet.goal.status"
_OF_ID = {"task_id": "quartet.task_id", "request_id": "quartet.request_id", "robot": "quartet.robot", "agent": AGENT}

TRACEPARENT = "traceparent"
_propagator = TraceContextTextMapPropagator()
_tracer = trace.get_tracer("quartet")
_NOTHING = nullcontext()


def set_up_tracing(process: str) -> bool:
    """Send spans to OTEL_EXPORTER_OTLP_ENDPOINT as service `process`; return whether they are sent.

    They go in batches from a thread of their own; what is left is sent when the process ends. OTEL_SERVICE_NAME
    prevails over `process`, and the other variables of the SDK hold as well.
    """
    if not any(os.environ.get(name) for name in ENDPOINTS) or os.environ.get("OTEL_SDK_DISABLED") == "true":
        return False
    try:
        import requests
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.environment_variables import OTEL_SERVICE_NAME
        from opentelemetry.sdk.resources import SERVICE_NAMESPACE, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        from quartet_process.proxies import uses_proxy
    except ImportError as error:
        log.error("traces are not sent, %s is missing: pip install 'quartet-process[otlp]'", error.name)
        return False
    os.environ.setdefault(OTEL_SERVICE_NAME, process)
    provider = TracerProvider(resource=Resource.create({SERVICE_NAMESPACE: "quartet"}))
    session = requests.Session()
    session.trust_env = uses_proxy(next(os.environ[name] for name in ENDPOINTS if os.environ.get(name)))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(session=session)))
    trace.set_tracer_provider(provider)
    return True


def captures_content() -> bool:
    """Return whether spans contain what models read and say."""
    return os.environ.get(CONTENT, "").lower() == "true"


@contextmanager
def span(
    name: str,
    *,
    parent: str | None = None,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: "Mapping[str, AttributeValue] | None" = None,
) -> Generator[Span]:
    """Run the block inside a span with the correlation ids.

    `parent` is a W3C traceparent that came with a message; None: the span around this one, or a new trace. An
    exception marks the span as failed, with its type alone, since a message may hold anything.
    """
    context = None if parent is None else _propagator.extract({TRACEPARENT: parent})
    with _tracer.start_as_current_span(
        name,
        context,
        kind,
        {**_ids(), **(attributes or {})},
        record_exception=False,
        set_status_on_exception=False,
    ) as started:
        if not started.get_span_context().is_valid:
            with trace.use_span(_unsent()) as unsent:
                yield unsent
            return
        try:
            yield started
        except Exception as error:
            mark_failed(started, type(error).__qualname__)
            raise


def step(name: str) -> AbstractContextManager[object]:
    """Run the block inside a span if the work around it is recorded, else as it is: for what happens often."""
    if not trace.get_current_span().is_recording():
        return _NOTHING
    return _tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False)


def mark_failed(one: Span, kind: str) -> None:
    """Mark a span as failed; `kind` is an error code or the type of an exception."""
    one.set_attribute(ERROR, kind)
    one.set_status(StatusCode.ERROR)


def traceparent() -> str | None:
    """Return the W3C traceparent of the current span for a message; None outside of any span."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return carrier.get(TRACEPARENT)


def trace_headers() -> dict[str, str]:
    """Return the traceparent of the current span as HTTP headers."""
    found = traceparent()
    return {} if found is None else {TRACEPARENT: found}


def _unsent() -> Span:
    """Return the root of a trace that is not recorded and not sampled, so that no other process sends parts of it."""
    return NonRecordingSpan(
        SpanContext(trace_id=secrets.randbits(128) or 1, span_id=secrets.randbits(64) or 1, is_remote=False)
    )


def add_attributes(attributes: "Mapping[str, AttributeValue]") -> None:
    """Add attributes to the current span."""
    trace.get_current_span().set_attributes(attributes)


def add_current_ids() -> None:
    """Add the correlation ids to the current span, which a library has begun."""
    add_attributes(_ids())


def _ids() -> dict[str, str]:
    return {_OF_ID[key]: value for key, value in current_ids().items()}


class TraceContextMiddleware:
    """ASGI middleware that continues the trace of a request's traceparent header."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application inside the trace of the request."""
        given = next((value for name, value in scope.get("headers", ()) if name == TRACEPARENT.encode()), None)
        if given is None:
            await self._app(scope, receive, send)
            return
        token = attach(_propagator.extract({TRACEPARENT: given.decode("latin-1")}))
        try:
            await self._app(scope, receive, send)
        finally:
            detach(token)
