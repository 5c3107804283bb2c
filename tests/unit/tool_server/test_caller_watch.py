"""When a caller counts as gone."""

from quartet_safety.motion import CallerWatch


def looks(watch: CallerWatch, since: float, until: float) -> list[float]:
    """The verdicts of a look every 50 ms."""
    found, now = [], since
    while now < until - 1e-9:
        now += 0.05
        if (silence := watch.silence(now)) is not None:
            found.append(silence)
    return found


def test_the_call_itself_is_the_first_sign_of_life():
    watch = CallerWatch(0.3, 0.0)
    assert looks(watch, 0.0, 0.29) == []
    assert looks(watch, 0.29, 0.4)


def test_a_caller_that_beats_lives():
    watch = CallerWatch(0.3, 0.0)
    for tenth in range(1, 30):
        watch.beat(tenth / 10)
        assert looks(watch, tenth / 10, tenth / 10 + 0.1) == []


def test_a_look_that_came_late_itself_is_put_off_once():
    watch = CallerWatch(0.3, 0.0)
    assert watch.silence(5.0) is None, "heartbeats may wait behind this look"
    assert watch.silence(5.05) == 5.05
    watch = CallerWatch(0.3, 0.0)
    assert watch.silence(5.0) is None
    assert watch.silence(9.0) == 9.0, "put off once, not for ever"
