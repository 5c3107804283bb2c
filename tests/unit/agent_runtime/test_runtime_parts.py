"""Small parts of the runtime: exports, argument checks, repetition, meter, settings."""

import time
from pathlib import Path
from typing import Any

import pytest

import quartet_agent_runtime
from quartet_agent_runtime import (
    AgentContext,
    ArgumentsError,
    ModelAnswer,
    ToolCall,
    ToolOutcome,
    WorkClock,
    load_settings,
)
from quartet_agent_runtime._arguments import checkable, read_arguments, repair_arguments
from quartet_agent_runtime._conversation import truncate
from quartet_agent_runtime._meter import Meter
from quartet_agent_runtime._repetition import Repetition
from quartet_contracts import Budget
from quartet_process import SettingsError
from quartet_site import RobotSetup, load_robot, load_site

SCHEMA = {"type": "object", "properties": {"x": {"type": "number"}, "s": {"type": "string"}}, "required": []}


def test_the_exports_are_what_all_says():
    assert all(hasattr(quartet_agent_runtime, name) for name in quartet_agent_runtime.__all__)
    assert len(set(quartet_agent_runtime.__all__)) == len(quartet_agent_runtime.__all__)


@pytest.mark.parametrize("raw", [None, "", "{}", {}])
def test_no_arguments_in_every_spelling(raw):
    assert read_arguments(raw, SCHEMA) == {}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("[1]", "got list"),
        ("nonsense", "not JSON"),
        ('{"x": "one"}', "x: 'one' is not of type 'number'"),
        ('{"y": 1}', "'y' was unexpected"),
        ('{"x": ' + "1" * 20_000 + "}", "at most 16000"),
    ],
)
def test_bad_arguments_say_what_is_wrong(raw, said):
    with pytest.raises(ArgumentsError) as caught:
        read_arguments(raw, SCHEMA)
    assert said in str(caught.value)


UNIONS = {"anyOf": [{"type": "integer"}, {"type": "boolean"}, {"type": "null"}]}
NESTED = {
    "type": "object",
    "properties": {
        "either": UNIONS,
        "text": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        "pose": {"anyOf": [{"$ref": "#/$defs/Pose"}, {"type": "null"}]},
        "rows": {"type": "array", "items": {"$ref": "#/$defs/Pose"}},
    },
    "$defs": {
        "Pose": {
            "type": "object",
            "properties": {"x": {"type": "number"}, "note": {"type": ["string", "null"], "default": None}},
            "required": ["x"],
        }
    },
}


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ({"either": "1"}, {"either": 1}),
        ({"either": "true"}, {"either": True}),
        ({"either": ""}, {}),
        ({"text": "1"}, {"text": "1"}),
        ({"pose": {"x": "1", "note": "5"}}, {"pose": {"x": 1, "note": "5"}}),
        ({"pose": '{"x": "1"}'}, {"pose": {"x": 1}}),
        ({"pose": {"x": 1, "note": ""}}, {"pose": {"x": 1}}),
        ({"rows": '[{"x": "1"}, {"x": 2}]'}, {"rows": [{"x": 1}, {"x": 2}]}),
    ],
)
def test_values_are_repaired_within_others(raw, read):
    found = read_arguments(raw, NESTED)
    assert found == read
    assert repr(found) == repr(read), "1 and true are equal to Python"


def test_a_fence_that_is_hardly_one_takes_no_time_to_read():
    """A regular expression took seconds for 2,000 blanks, within the loop of the process."""
    blanks = "```" + " " * 15_000 + "x"
    assert read_arguments({"text": blanks, "either": "1"}, NESTED) == {"text": blanks, "either": 1}
    with pytest.raises(ArgumentsError):
        read_arguments(blanks, NESTED)
    assert read_arguments('```json\n{"either": 1}\n```', NESTED) == {"either": 1}


def test_a_union_with_two_readings_is_left_as_it_is():
    point, size = ({"type": "object", "properties": {"x": {"type": kind}}} for kind in ("number", "boolean"))
    schema = {"type": "object", "properties": {"at": {"anyOf": [point, size]}}}
    with pytest.raises(ArgumentsError, match="at: "):
        read_arguments({"at": {"x": "yes"}}, schema)
    blank = {"type": "object", "properties": {"at": {"anyOf": [point, {"type": "object"}]}}}
    assert read_arguments({"at": {"x": "1"}}, blank) == {"at": {"x": "1"}}


def test_a_schema_of_unions_without_end_is_not_followed_to_its_end():
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}
    schema["$defs"] = {"A": {"anyOf": [{"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}] * 3}}
    value: Any = 1
    for _ in range(30):
        value = {"a": value}
    began = time.process_time()
    assert repair_arguments(value, schema) == (value, [])
    assert time.process_time() - began < 10


def test_a_schema_that_allows_more_is_respected():
    assert read_arguments({"z": 1}, {**SCHEMA, "additionalProperties": True}) == {"z": 1}


def called(arguments):
    return ToolCall("c", "t", arguments)


def test_repetition_counts_equal_pairs_only():
    watch, good, bad = Repetition(), ToolOutcome({"ok": True}), ToolOutcome({"ok": False})
    assert [watch.seen(called({"x": 1}), good) for _ in range(3)] == [False, False, True]
    assert watch.is_forbidden(called('{"x": 1}'))
    assert not watch.is_forbidden(called({"x": 2}))
    assert not watch.seen(called({"x": 1}), bad)
    assert not watch.is_forbidden(called({"x": 1}))


def test_two_calls_in_turns_are_a_repetition_too():
    watch, good = Repetition(), ToolOutcome({"ok": True})
    seen = [watch.seen(ToolCall("c", name, {}), good) for name in ("a", "b", "a", "b", "a")]
    assert seen == [False, False, False, False, True]


def test_a_procedure_may_be_tried_twice_and_not_for_ever():
    """The fingers are opened before a grasp and after it, each time with the same result."""
    watch, good = Repetition(), ToolOutcome({"ok": True})
    once = ("look", "open", "down", "close", "state", "open", "up")
    seen = [watch.seen(ToolCall("c", name, {}), good) for name in once * 3]
    assert not any(seen[: 2 * len(once)])
    assert any(seen[2 * len(once) :])


def test_the_meter_names_the_limit():
    meter = Meter(Budget(turns=2, tokens=50), WorkClock(60, 60))
    assert meter.exhausted() is None
    meter.count_turn(ModelAnswer(prompt_tokens=30, completion_tokens=5))
    assert meter.exhausted() is None
    meter.count_turn(ModelAnswer(prompt_tokens=30, completion_tokens=5))
    assert "2 of 2 model turns" in meter.exhausted()
    assert Meter(Budget(), WorkClock(-1, -1)).exhausted() == "the request's deadline passed without a report"


def test_truncate_says_how_much_is_missing():
    assert truncate("abc", 3) == "abc"
    assert truncate("abcdef", 4) == "abcd …[cut: 2 of 6 characters left out]"


def test_settings_name_the_variable(monkeypatch):
    monkeypatch.delenv("QUARTET_SERVERS", raising=False)
    monkeypatch.setenv("QUARTET_ROBOT_FILE", "r.yaml")
    monkeypatch.setenv("QUARTET_SITE_FILE", "s.yaml")
    monkeypatch.setenv("QUARTET_GRACE_S", "soon")
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert "QUARTET_SERVERS is not set; set it, such as {" in str(caught.value)
    assert "QUARTET_GRACE_S: " in str(caught.value)
    assert "'soon'" in str(caught.value)


def test_robots_of_one_site_are_in_one_place_and_others_are_not():
    sites = Path(__file__).parents[3] / "deploy" / "sites"
    robot = load_robot(sites / "home" / "robot.yaml")
    home, copy, studio = (load_site(sites / name / "site.yaml") for name in ("home", "home", "studio"))
    robots = {"ben": RobotSetup(robot, home), "cleo": RobotSetup(robot, studio), "anna": RobotSetup(robot, copy)}
    none: Any = None
    outside = AgentContext(none, robots, none, none, none, none, none, "replica")
    assert outside.robots_in_same_place("ben") == ("anna", "ben")
    assert outside.robots_in_same_place("cleo") == ("cleo",)


def test_a_clock_moves_its_deadline_by_waits_and_no_further_than_the_latest(monkeypatch):
    now = 100.0
    # Not the one of time.monotonic(), which stands still while the machine is suspended.
    monkeypatch.setattr(time, "clock_gettime", lambda _: now)
    clock = WorkClock(60.0, 90.0)
    with clock.waiting():
        now = 110.0
        assert (clock.waits, clock.left_s, clock.most_s) == (True, 60.0, 80.0)
    now = 150.0
    assert (clock.waits, clock.left_s, clock.most_s) == (False, 20.0, 40.0)
    with clock.waiting():
        now = 180.0
    assert (clock.left_s, clock.most_s) == (10.0, 10.0)


def test_a_wall_clock_that_is_set_moves_no_deadline(monkeypatch):
    clock, meter_clock = WorkClock(60.0, 90.0), WorkClock(60.0, 90.0)
    meter = Meter(Budget(wall_s=50.0), meter_clock)
    now = time.time()
    for shift_s in (3600.0, -3600.0):
        monkeypatch.setattr(time, "time", lambda shift_s=shift_s: now + shift_s)
        assert 50 < clock.left_s <= 60
        assert 40 < meter.remaining_s <= 50
        assert meter.exhausted() is None


def test_a_schema_that_names_itself_is_a_refusal_and_no_crash():
    with pytest.raises(ArgumentsError, match="schema of this tool cannot be used"):
        read_arguments({"a": 1}, {"type": "object", "$ref": "#"})


def test_regular_expressions_of_a_server_are_left_to_it():
    schema = {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "pattern": "^(a|a)*$", "enum": [{"pattern": "x"}]},
            "any": {"anyOf": [{"pattern": "^(a|a)*$"}, {"type": "null"}]},
        },
        "required": ["pattern"],
        "patternProperties": {"^(a|a)*$": {}},
    }
    assert checkable(schema) == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "enum": [{"pattern": "x"}]},
            "any": {"anyOf": [{}, {"type": "null"}]},
        },
        "required": ["pattern"],
    }
