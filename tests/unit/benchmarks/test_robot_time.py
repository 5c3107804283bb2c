"""Where the time of a robot went, by the journals of its tasks."""

import pytest

from quartet_benchmarks.robot_time import PARTS, Span, WorldClock, drawn, parts_of_team, spans_of, time_of
from quartet_contracts import JournalEvent
from quartet_contracts.journal import Note, TeamStep, ToolCalled, ToolReturned


@pytest.fixture
def clock():
    """The world stands still for 10 s of wall time, then runs at twice the speed for 50 s."""
    made = WorldClock()
    for wall, world in ((100.0, 7.0), (110.0, 7.0), (160.0, 107.0)):
        made.sample(wall, world)
    return made


def event(at, what):
    return JournalEvent(task_id="t1", actor="approach", at=at, event=what)


def call(name, tool, begin, end):
    return [
        event(begin, ToolCalled(call_id=name, tool=tool, arguments={})),
        event(end, ToolReturned(call_id=name, tool=tool, ok=True)),
    ]


def test_world_time_between_samples(clock):
    assert [clock.at(wall) for wall in (50, 100, 105, 110, 120, 160, 900)] == [7, 7, 7, 7, 27, 107, 107]
    assert clock.total_s == 100


def test_an_errand_is_driving_arm_waiting_and_for_the_rest_thinking(clock):
    errand = [
        event(105, Note(text="begins")),
        *call("a", "nav2__navigate_to_pose", 110, 120),
        *call("b", "perception__detect_objects", 120, 122),
        *call("c", "nav2__wait", 122, 126),
        *call("d", "moveit__plan_and_execute", 126, 131),
        # Never returned: what it was doing is not known.
        event(132, ToolCalled(call_id="e", tool="nav2__navigate_to_pose", arguments={})),
        event(135, Note(text="ends")),
    ]
    parking = [event(140, Note(text="begins")), *call("f", "nav2__navigate_to_pose", 141, 150)]
    spans = spans_of({"t1": errand, "t2": [], "t3": parking}, {"t1": False, "t2": False, "t3": True}, clock)
    spent = time_of(spans)
    assert spent == pytest.approx({"driving": 20, "arm": 10, "waiting": 8, "thinking": 12, "parking": 20, "free": 30})
    assert tuple(spent) == PARTS
    assert sum(spent.values()) == pytest.approx(clock.total_s)
    assert [(span.begin_s, span.end_s, span.part, span.task) for span in spans] == [
        (0, 20, "driving", "t1"),
        (20, 24, "thinking", "t1"),
        (24, 32, "waiting", "t1"),
        (32, 42, "arm", "t1"),
        (42, 50, "thinking", "t1"),
        (50, 60, "free", ""),
        (60, 80, "parking", "t3"),
        (80, 100, "free", ""),
    ]


def test_motions_at_the_same_time_count_once(clock):
    both = [
        event(110, ToolCalled(call_id="a", tool="nav2__navigate_to_pose", arguments={})),
        event(115, ToolCalled(call_id="b", tool="moveit__plan_and_execute", arguments={})),
        event(120, ToolReturned(call_id="a", tool="nav2__navigate_to_pose", ok=True)),
        event(130, ToolReturned(call_id="b", tool="moveit__plan_and_execute", ok=True)),
        event(160, Note(text="ends")),
    ]
    spent = time_of(spans_of({"t1": both}, {"t1": False}, clock))
    assert (spent["driving"], spent["arm"], spent["thinking"]) == pytest.approx((20, 20, 60))


def test_a_robot_without_a_task_is_free(clock):
    assert spans_of({}, {}, clock) == [Span(0, 100, "free")]


def test_a_timeline_has_the_sign_of_what_took_most_of_each_step():
    spans = [
        Span(0, 5, "free"),
        Span(5, 21, "driving", "t1"),
        Span(21, 33, "arm", "t1"),
        Span(33, 34, "thinking", "t1"),
        Span(34, 49, "waiting", "t2"),
        Span(49, 54, "free"),
    ]
    assert drawn(spans, 4.0) == ".|---AAA|WWW.."
    assert drawn([], 4.0) == ""


def test_the_tasks_of_each_robot_of_a_team():
    move, park = "move(can, kitchen, desk)", "park(hallway)"
    steps = [
        TeamStep(step=1, plan={"ada": move, "bob": park}, tasks={"ada": "t2", "bob": "t3"}),
        TeamStep(step=2, plan={"ada": park}, tasks={"ada": "t4"}),
    ]
    journal = [event(1, Note(text="begins")), *(event(2, step) for step in steps)]
    assert parts_of_team(journal) == {"ada": {"t2": move, "t4": park}, "bob": {"t3": park}}
