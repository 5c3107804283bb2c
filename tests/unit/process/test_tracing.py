"""Spans tell whose they are, how they ended and nothing that may be secret; a trace goes on wherever a message goes."""

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, format_span_id, format_trace_id

from quartet_agent_runtime._model import ModelAnswer, ToolCall
from quartet_agent_runtime._model_span import model_span, note_answer
from quartet_process import correlation_ids, tracing


class Spans:
    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    def all(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._exporter.get_finished_spans()}


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    """A process that records its spans."""
    found = Spans()
    monkeypatch.setattr(tracing, "_tracer", found.provider.get_tracer("quartet"))
    yield found
    found.provider.shutdown()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_span_has_the_ids_of_its_work_and_lies_in_the_one_around_it(spans: Spans) -> None:
    with (
        correlation_ids(task_id="t1", request_id="r1", robot="summit", agent="pick"),
        tracing.span("outer"),
        tracing.span("inner", attributes={tracing.TOOL: "nav2__spin_robot"}),
    ):
        tracing.add_attributes({tracing.CODE: "NONE"})
    outer, inner = spans.all()["outer"], spans.all()["inner"]
    assert attributes(outer) == {
        "quartet.task_id": "t1",
        "quartet.request_id": "r1",
        "quartet.robot": "summit",
        "gen_ai.agent.name": "pick",
    }
    assert attributes(inner) == {
        **attributes(outer),
        "gen_ai.tool.name": "nav2__spin_robot",
        "quartet.error_code": "NONE",
    }
    assert inner.parent is not None
    assert inner.parent.span_id == outer.context.span_id


def test_a_step_is_recorded_inside_of_recorded_work_only(spans: Spans) -> None:
    with tracing.step("alone"):
        assert tracing.traceparent() is None
    with tracing.span("work"), tracing.step("part"):
        pass
    assert set(spans.all()) == {"work", "part"}
    assert spans.all()["part"].parent.span_id == spans.all()["work"].context.span_id
    with tracing.span("failing"), pytest.raises(ValueError, match="hunter2"), tracing.step("failed part"):
        raise ValueError("hunter2")
    assert "hunter2" not in spans.all()["failed part"].to_json()


def test_a_failure_is_told_by_its_type_alone(spans: Spans) -> None:
    with pytest.raises(ValueError, match="password"), tracing.span("failing"):
        raise ValueError("password is hunter2")
    span = spans.all()["failing"]
    assert attributes(span) == {"error.type": "ValueError"}
    assert span.status.status_code is StatusCode.ERROR
    assert "hunter2" not in span.to_json()


def test_a_trace_goes_on_where_its_traceparent_is_handed_on(spans: Spans) -> None:
    with tracing.span("here"):
        sent = tracing.trace_headers()
    with tracing.span("there", parent=sent["traceparent"]):
        pass
    here, there = spans.all()["here"], spans.all()["there"]
    assert there.context.trace_id == here.context.trace_id
    assert there.parent is not None
    assert there.parent.span_id == here.context.span_id


@pytest.mark.parametrize("broken", ["", "x", "00-zz-11-01", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_a_traceparent_that_is_none_begins_a_new_trace(broken: str, spans: Spans) -> None:
    with tracing.span("begun", parent=broken):
        pass
    assert spans.all()["begun"].parent is None


async def test_a_request_to_an_application_goes_on_in_the_trace_of_its_caller(spans: Spans) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        with tracing.span("handled"):
            pass

    async def nothing(*_: Any) -> Any: ...

    with tracing.span("asked"):
        headers = [(name.encode(), value.encode()) for name, value in tracing.trace_headers().items()]
    await tracing.TraceContextMiddleware(app)({"type": "http", "headers": headers}, nothing, nothing)
    assert spans.all()["handled"].context.trace_id == spans.all()["asked"].context.trace_id
    assert tracing.traceparent() is None


def test_without_an_endpoint_a_trace_still_has_an_id_that_goes_along_and_is_not_sampled() -> None:
    assert tracing.traceparent() is None
    with tracing.span("root") as root:
        sent = tracing.traceparent()
        assert sent is not None
        with tracing.span("inner"):
            assert tracing.traceparent() == sent
    context = root.get_span_context()
    assert sent == f"00-{format_trace_id(context.trace_id)}-{format_span_id(context.span_id)}-00"
    with tracing.span("later", parent=sent) as later:
        assert later.get_span_context().trace_id == context.trace_id
    with tracing.span("other") as other:
        assert other.get_span_context().trace_id != context.trace_id


IMPORTS = """
import json, sys
from quartet_process.tracing import set_up_tracing
on = set_up_tracing("pick")
print(json.dumps([on, sorted(name for name in sys.modules if name.startswith(("opentelemetry.sdk", "requests")))]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "sends"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_the_sdk_is_loaded_only_where_an_endpoint_is_configured(env: dict[str, str], sends: bool) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    command = [sys.executable, "-c", IMPORTS]
    done = subprocess.run(command, env={**clean, **env}, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    on, modules = json.loads(done.stdout)
    assert on is sends
    assert bool(modules) is sends


SENDS = """
from opentelemetry import trace
from quartet_process.tracing import set_up_tracing
set_up_tracing("pick")
with trace.get_tracer("test").start_as_current_span("asked"):
    pass
trace.get_tracer_provider().shutdown()
"""


def test_spans_go_to_a_collector_inside_the_site_without_the_proxy_of_the_environment() -> None:
    with socket.create_server(("127.0.0.1", 0)) as collector, socket.create_server(("127.0.0.1", 0)) as proxy:
        env = {
            **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
            "HTTP_PROXY": f"http://127.0.0.1:{proxy.getsockname()[1]}",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.getsockname()[1]}",
        }
        running = subprocess.Popen([sys.executable, "-c", SENDS], env=env)
        try:
            asked, _, _ = select.select([collector, proxy], [], [], 100)
        finally:
            running.kill()
            running.wait()
        assert asked == [collector]


ANSWER = ModelAnswer(
    text="I will look",
    calls=[ToolCall("c1", "perception__look", '{"camera": "front"}')],
    model="anthropic/claude",
    prompt_tokens=10,
    completion_tokens=3,
    cost_usd=0.25,
)
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You pick things up."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "the can"},
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}},
        ],
    },
]


def asked(spans: Spans) -> dict[str, Any]:
    with model_span("pick", MESSAGES) as one:
        note_answer(one, ANSWER)
    return attributes(spans.all()["chat pick"])


def test_a_question_to_the_model_is_told_without_its_words(spans: Spans) -> None:
    assert asked(spans) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.agent.name": "pick",
        "gen_ai.request.model": "pick",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.response.model": "anthropic/claude",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 3,
        "quartet.cost_usd": 0.25,
    }


def test_the_words_are_there_when_they_are_wanted_and_pictures_are_only_named(
    spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(tracing.CONTENT, "true")
    found = asked(spans)
    assert json.loads(found["gen_ai.input.messages"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "You pick things up."}]},
        {"role": "user", "parts": [{"type": "text", "content": "the can"}, {"type": "image_url"}]},
    ]
    (said,) = json.loads(found["gen_ai.output.messages"])
    assert [part["type"] for part in said["parts"]] == ["text", "tool_call"]
