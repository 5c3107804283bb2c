"""A line of the log can be parsed whatever it tells, and says what it belongs to."""

import asyncio
import json
import logging
import sys

import pytest
from opentelemetry.trace import NonRecordingSpan, SpanContext, use_span

from quartet_process import JsonFormatter, LogFormat, correlation_ids, current_ids, set_up_logging


def record(message: str = "it is done") -> logging.LogRecord:
    return logging.LogRecord("quartet_x", logging.INFO, "f", 1, message, (), None)


def line(message: str = "it is done") -> dict[str, str]:
    text = JsonFormatter("pick").format(record(message))
    assert "\n" not in text
    return json.loads(text)


def test_a_line_tells_when_who_what_and_nothing_of_work_that_there_is_not() -> None:
    found = line('said "yes"\nand more')
    assert found.pop("time").endswith("Z")
    assert found == {
        "level": "INFO",
        "process": "pick",
        "logger": "quartet_x",
        "message": 'said "yes"\nand more',
    }


def test_an_exception_is_part_of_the_line() -> None:
    try:
        raise ValueError("bad value")
    except ValueError as error:
        failed = record()
        failed.exc_info = (ValueError, error, error.__traceback__)
    assert "ValueError: bad value" in json.loads(JsonFormatter("pick").format(failed))["exception"]


def test_lines_inside_of_work_carry_its_ids_and_those_around_it() -> None:
    with correlation_ids(task_id="t1", robot="summit"):
        with correlation_ids(request_id="r1", agent="pick"):
            assert line().items() >= {"task_id": "t1", "request_id": "r1", "robot": "summit", "agent": "pick"}.items()
        assert "request_id" not in line()
    assert not current_ids()


async def test_tasks_inherit_the_work_they_are_started_in_and_do_not_mix() -> None:
    async def told() -> str:
        await asyncio.sleep(0)
        return line()["task_id"]

    async def one(task_id: str) -> str:
        with correlation_ids(task_id=task_id):
            return await asyncio.create_task(told())

    assert await asyncio.gather(one("a"), one("b")) == ["a", "b"]


def test_a_line_names_the_span_it_was_written_in() -> None:
    span = NonRecordingSpan(SpanContext(trace_id=0xABC, span_id=0xDEF, is_remote=False))
    with use_span(span):
        found = line()
    assert (found["trace_id"], found["span_id"]) == (f"{0xABC:032x}", f"{0xDEF:016x}")
    assert "trace_id" not in line()


@pytest.mark.parametrize("style", ["json", "text"])
@pytest.mark.parametrize("chosen", [True, False])
def test_set_up_logs_to_stderr_with_filters_and_quiet_libraries(
    style: LogFormat, chosen: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`auto` takes text for a terminal."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: style == "text")

    def filtered(record: logging.LogRecord) -> bool:
        record.msg = str(record.msg).replace("secret", "***")
        return True

    filters = logging.Filter()
    filters.filter = filtered  # type: ignore[method-assign]
    set_up_logging("pick", style if chosen else "auto", filters=[filters])
    logging.getLogger("quartet_x").info("a secret")
    logging.getLogger("httpx2").info("a request")
    out = capsys.readouterr()
    assert out.out == ""
    (only,) = out.err.splitlines()
    assert "a ***" in only
    assert only.startswith("{") is (style == "json")
