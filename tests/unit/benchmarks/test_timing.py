"""How the time suite splits a trace, and what it takes as options."""

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from quartet_benchmarks import extras
from quartet_benchmarks.command import bench
from quartet_benchmarks.errors import MissingExtraError, OptionError
from quartet_benchmarks.timing import flame_graph
from quartet_benchmarks.timing.collector import collecting
from quartet_benchmarks.timing.parts import PARTS, Span, seconds_by_name, seconds_by_part, stretches

CLIENT, SERVER = 3, 2
S = 10**9


def span(key: str, parent: str, service: str, name: str, start: float, end: float, *, kind: int = 1) -> Span:
    return Span(service, name, "t", key, parent, kind, round(start * S), round(end * S))


TASK = [
    span("accept", "", "orchestrator", "accept task", 0.0, 0.1),
    span("task", "accept", "orchestrator", "invoke_agent orchestrator", 0.5, 20.0),
    span("chat", "task", "orchestrator", "chat orchestrator", 1.0, 4.0, kind=CLIENT),
    span("post", "chat", "gateway", "POST /v1/chat/completions", 1.5, 3.5, kind=SERVER),
    span("provider", "post", "gateway", "chat openai/gpt-5", 2.0, 3.0, kind=CLIENT),
    span("turn", "task", "orchestrator", "journal", 4.0, 4.25),
    span("write", "turn", "orchestrator", "redis", 4.0, 4.25),
    span("ask", "task", "orchestrator", "invoke_agent pick", 5.0, 19.0, kind=CLIENT),
    span("pick", "ask", "pick", "invoke_agent pick", 6.0, 18.0, kind=SERVER),
    span("tool", "pick", "pick", "execute_tool moveit__plan_and_execute", 7.0, 12.0),
    span("call", "tool", "moveit", "tools/call plan_and_execute", 7.5, 11.5, kind=SERVER),
    span("goal", "call", "moveit", "goal MoveGroup", 8.0, 11.0, kind=CLIENT),
    # The orchestrator copies the agent's events meanwhile: nobody waits for it.
    span("copy", "ask", "orchestrator", "redis", 9.0, 13.0),
    span("look", "pick", "pick", "execute_tool perception__look", 13.0, 17.0),
    span("see", "look", "perception", "tools/call look", 13.0, 17.0, kind=SERVER),
    span("frame", "see", "perception", "rosbridge /front/colour", 14.0, 16.0),
]
RENDERED = [
    Span("quartet_simulation", "render front", f"r{n}", f"r{n}", "", 1, round(begin * S), round(end * S))
    for n, (begin, end) in enumerate([(2.2, 2.8), (10.5, 12.0), (14.5, 15.0), (14.75, 15.5)])
]
OTHERS = [Span("gateway", "chat x", "another", "x", "", CLIENT, 0, 20 * S)]
EXPECTED = {
    "model": 1.0,
    "gateway": 2.0,
    "mcp": 2.0,
    "rosbridge": 1.0,
    "motion": 2.5,
    "rendering": 1.5,
    "perception": 2.0,
    "bus": 2.0,
    "journal": 0.25,
    "agents": 5.25,
    "other": 0.5,
}


def test_each_instant_belongs_to_the_innermost_span() -> None:
    found = stretches([*TASK, *RENDERED, *OTHERS], "t", 0, 20 * S)
    assert seconds_by_part(found) == pytest.approx(EXPECTED)
    assert set(EXPECTED) == set(PARTS)
    assert seconds_by_name(found, "rendering") == pytest.approx(
        {"render while rosbridge /front/colour": 1.0, "render while goal MoveGroup": 0.5}
    )


def test_the_order_in_which_spans_arrive_makes_no_difference() -> None:
    found = stretches([*RENDERED, *reversed(TASK)], "t", 0, 20 * S)
    assert seconds_by_part(found) == pytest.approx(EXPECTED)


@pytest.mark.parametrize(("start", "end"), [(0, 20), (3, 9), (19.5, 30), (40, 41)])
def test_the_parts_add_up_to_the_wall_time(start: float, end: float) -> None:
    found = stretches([*TASK, *RENDERED], "t", round(start * S), round(end * S))
    assert sum(one.seconds for one in found) == pytest.approx(end - start)


def test_without_a_trace_all_of_it_is_other() -> None:
    found = seconds_by_part(stretches(RENDERED, "t", 0, 2 * S))
    assert found == pytest.approx({**dict.fromkeys(PARTS, 0.0), "other": 2.0})


def test_a_span_that_is_around_itself_ends_the_line() -> None:
    looped = [span("a", "b", "x", "one", 0, 1), span("b", "a", "x", "two", 0, 1)]
    assert seconds_by_part(stretches(looped, "t", 0, S))["other"] == pytest.approx(1.0)


def test_the_collector_takes_what_the_sdk_sends() -> None:
    with collecting() as collector:
        provider = TracerProvider(resource=Resource.create({"service.name": "pick"}))
        provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{collector.url}/v1/traces")))
        tracer = provider.get_tracer("test")
        with tracer.start_as_current_span("outer"), tracer.start_as_current_span("inner", attributes={"n": 3}):
            pass
        provider.shutdown()
        inner, outer = collector.spans
    assert (inner.service, inner.name, inner.attributes) == ("pick", "inner", {"n": 3})
    assert (inner.parent, outer.parent) == (outer.span, "")
    assert outer.start_ns <= inner.start_ns <= inner.end_ns <= outer.end_ns
    assert inner.trace == outer.trace != ""
    assert collector.spans == [inner, outer]
    with pytest.raises(httpx.ConnectError):
        httpx.post(f"{collector.url}/v1/traces")


def test_options_of_other_suites_are_refused() -> None:
    with pytest.raises(OptionError, match="trials: the suite 'time' has no such option"):
        bench("time", options={"trials": 3})
    with pytest.raises(OptionError, match="flame: the suite 'planners' has no such option; time has"):
        bench("planners", options={"flame": "pick"})
    with pytest.raises(
        OptionError, match=r"trials: the suite 'home' has no such option; armtable, planners, roco have$"
    ):
        bench("home", options={"trials": 3, "flame": "pick"})
    with pytest.raises(
        OptionError,
        match=r"price: the suite 'tokens' has no such option; "
        r"architectures, armtable, emos, malmm, planners, roco have$",
    ):
        bench("tokens", options={"model": ["openai/gpt-4o"], "price": "1,2"})


@pytest.mark.parametrize("missing", ["opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto"])
def test_traces_without_the_extra_say_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(MissingExtraError, match=rf"^{missing} is not installed, .*quartet-benchmarks\[time\]"):
        bench("time")


def test_an_extra_of_which_not_even_the_outer_package_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> None:
        raise ModuleNotFoundError(f"No module named '{name.partition('.')[0]}'")

    monkeypatch.setattr(extras, "find_spec", find)
    with pytest.raises(MissingExtraError, match=r"quartet-benchmarks\[time\]"):
        bench("time")


def test_a_flame_graph_without_py_spy_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(MissingExtraError, match="quartet-benchmarks\\[time\\]"):
        flame_graph.find_py_spy()
