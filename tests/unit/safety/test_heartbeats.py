"""Which heartbeats the guard watches, and when one has lapsed."""

import pytest

from quartet_safety.guard import Heartbeats
from quartet_safety.guard._heartbeats import MAX_SOURCES, STALL_S


@pytest.fixture
def watch():
    """Looked at every 30 ms, with a limit of 0.4 s."""
    heartbeats = Heartbeats(0.4)

    def looks(since: float, until: float) -> list[str]:
        gone, now = [], since
        while now < until - 1e-9:
            now += 0.03
            gone += heartbeats.lapsed(now)
        return gone

    return heartbeats, looks


def test_a_silent_source_lapses_once(watch):
    heartbeats, looks = watch
    assert heartbeats.beat("nav2:m1", 0.0) is True
    assert looks(0.0, 0.39) == []
    assert looks(0.39, 0.5) == ["nav2:m1"]
    assert looks(0.5, 3.0) == []
    assert heartbeats.beat("nav2:m1", 3.0) is True, "who beats again begins again"


def test_each_beat_counts_from_anew(watch):
    heartbeats, looks = watch
    heartbeats.beat("nav2:m1", 0.0)
    for tenth in range(1, 20):
        assert heartbeats.beat("nav2:m1", tenth / 10) is False
        assert looks(tenth / 10, tenth / 10 + 0.09) == []


def test_a_new_episode_watches_nothing(watch):
    heartbeats, looks = watch
    heartbeats.beat("nav2:m1", 0.0)
    heartbeats.forget()
    assert looks(0.0, 2.0) == []


def test_who_is_done_is_not_watched(watch):
    heartbeats, looks = watch
    heartbeats.beat("nav2:m1", 0.0)
    heartbeats.beat("moveit:m2", 0.0)
    heartbeats.beat("nav2:m1/done", 0.1)
    assert looks(0.0, 2.0) == ["moveit:m2"]


@pytest.mark.parametrize("frame_id", ["", "nav2", "a b:c", "a/b:c", "nav2:", ":m1", "nav2:" + "x" * 200, "/done"])
def test_what_is_no_source_is_not_watched(watch, frame_id):
    heartbeats, looks = watch
    assert heartbeats.beat(frame_id, 0.0) is False
    assert heartbeats.age_s(0.5) == 0.5
    assert looks(0.0, 2.0) == []


def test_a_watch_that_was_held_up_looks_again_before_it_judges(watch):
    heartbeats, looks = watch
    heartbeats.beat("nav2:m1", 0.0)
    assert looks(0.0, 0.09) == []
    assert heartbeats.lapsed(5.0) == [], "beats of the last 5 s may wait behind this look"
    heartbeats.beat("nav2:m1", 5.0)
    assert looks(5.0, 5.3) == []
    assert heartbeats.lapsed(10.0) == []
    assert heartbeats.lapsed(20.0) == ["nav2:m1"], "put off once, not for ever"


def test_a_client_gone_mad_cannot_fill_the_memory(watch):
    heartbeats, _ = watch
    for number in range(MAX_SOURCES + 1):
        heartbeats.beat(f"mad:m{number}", number / 1e6)
    assert heartbeats.lapsed(0.01) == ["mad:m0"]


def test_a_source_lapses_after_the_limit_and_not_before() -> None:
    beats = Heartbeats(0.4)
    assert beats.beat("nav2:1", 10.0)
    assert not beats.beat("nav2:1", 10.1)
    assert beats.lapsed(10.49) == []
    assert beats.lapsed(10.52) == ["nav2:1"]
    assert beats.lapsed(10.54) == [] == beats.sources
    assert beats.beat("nav2:1", 10.6), "a source that beats again begins anew"


def test_done_ends_the_watch_of_its_source_alone() -> None:
    beats = Heartbeats(0.4)
    for source in ("nav2:1", "moveit:2"):
        beats.beat(source, 10.0)
    beats.beat("nav2:1/done", 10.1)
    beats.beat("never:begun/done", 10.1)
    assert beats.sources == ["moveit:2"]


def test_a_watch_that_was_away_puts_its_verdict_off_once() -> None:
    beats = Heartbeats(0.4)
    beats.lapsed(10.0)
    beats.beat("nav2:1", 10.0)
    late = 11.0
    assert beats.lapsed(late) == []
    assert beats.lapsed(late + STALL_S + 0.01) == ["nav2:1"], "a watch that is always late judges all the same"


def test_a_flood_of_sources_is_bounded_by_lapses_of_the_oldest() -> None:
    beats = Heartbeats(0.4)
    beats.lapsed(10.0)
    for number in range(MAX_SOURCES + 1):
        beats.beat(f"mad:{number}", 10.0 + number * 1e-6)
    assert beats.lapsed(10.01) == ["mad:0"]
