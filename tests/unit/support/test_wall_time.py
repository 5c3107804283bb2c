"""A simulation with the clock of a robot."""

import time

import pytest

from support.wall_time import DRIFT_S, WallTime


def _clock(at: float) -> dict:
    return {"op": "publish", "topic": "/clock", "msg": {"clock": _time(at)}}


def _time(at: float) -> dict:
    return {"sec": int(at), "nanosec": round(at % 1 * 1e9)}


def _stamp(change: WallTime, at: float) -> float:
    message = {"transforms": [{"header": {"stamp": _time(at), "frame_id": "base"}}]}
    changed = change({"op": "publish", "topic": "/tf", "msg": message})
    assert changed is not None
    stamp = changed["msg"]["transforms"][0]["header"]["stamp"]
    return stamp["sec"] + stamp["nanosec"] * 1e-9


def test_stamps_become_wall_time_and_clock_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    change, now = WallTime(), 1000.0
    monkeypatch.setattr(time, "time", lambda: now)
    assert change(_clock(5.0)) is None
    assert _stamp(change, 4.5) == pytest.approx(999.5)
    assert _stamp(change, 0.0) == 0.0, "0 means: now"


def test_stamps_follow_a_late_simulation_and_not_its_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    change, now = WallTime(), 1000.0
    monkeypatch.setattr(time, "time", lambda: now)
    change(_clock(5.0))
    change(_clock(5.0 - DRIFT_S / 2))
    assert _stamp(change, 5.0) == pytest.approx(1000.0)
    change(_clock(5.0 - DRIFT_S * 2))
    assert _stamp(change, 5.0) == pytest.approx(1000.0 + DRIFT_S * 2)
