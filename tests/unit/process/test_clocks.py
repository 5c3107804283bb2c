"""The clock that counts through a suspend."""

import time

from quartet_process import boot_time


def test_the_time_of_a_suspend_counts(monkeypatch):
    monkeypatch.setattr(time, "clock_gettime", {time.CLOCK_BOOTTIME: 3600.0, time.CLOCK_MONOTONIC: 1.0}.get)
    assert boot_time() == 3600.0


def test_where_no_clock_counts_it_the_monotonic_one_does(monkeypatch):
    monkeypatch.setattr("quartet_process._clocks._BOOT_TIME", None)
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)
    assert boot_time() == 7.0
