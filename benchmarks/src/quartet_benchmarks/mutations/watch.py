"""Watches the processes of a stack for crashes, unhandled exceptions and growth, and the robot for motions."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx
import psutil

from quartet_deployment import Stack

UNHANDLED = re.compile(r"Traceback \(most recent call last\)|never retrieved|Exception in ASGI|could not be handled")
MOVED = 0.005
"""Least change of base, joint, finger or object that counts as a motion [m or rad]."""


class StackWatch:
    """Watches the processes of `stack` and of `more` (pid and log by name) from now on."""

    def __init__(self, stack: Stack, more: dict[str, tuple[int, Path]] | None = None) -> None:
        self._stack = stack
        self._processes = {name: (pid, stack.log_dir / f"{name}.log") for name, pid in stack.pids().items()} | (
            more or {}
        )
        self._read = {name: log.stat().st_size for name, (_, log) in self._processes.items() if log.exists()}
        self._begin = self._place()
        self.crashes: list[str] = []
        self.complaints: dict[str, list[str]] = defaultdict(list)
        """Unhandled exceptions in the log of each process."""
        self.motions: list[str] = []
        self.sizes: dict[str, list[tuple[int, float]]] = defaultdict(list)
        """Resident memory by process: (messages so far, MB)."""

    def check(self, messages: int) -> None:
        """Note the state of everything after `messages`."""
        for name, (pid, log) in self._processes.items():
            try:
                size = psutil.Process(pid).memory_info().rss
            except psutil.NoSuchProcess:
                size = 0
            if not size:
                if name not in self.crashes:
                    self.crashes.append(name)
                continue
            self.sizes[name].append((messages, size / 1e6))
            self._read_log(name, log)
        now = self._place()
        self.motions += [f"{name} after {messages}" for name in now if _moved(self._begin.get(name), now[name])]
        self._begin = now

    def _read_log(self, name: str, log: Path) -> None:
        if not log.exists():
            return
        with log.open("rb") as file:
            file.seek(self._read.get(name, 0))
            text = file.read()
            self._read[name] = file.tell()
        said = text.decode(errors="replace")
        for found in UNHANDLED.finditer(said):
            self.complaints[name].append(said[max(0, found.start() - 300) : found.start() + 3000])

    def _place(self) -> dict[str, list[float]]:
        truth: dict[str, Any] = (
            httpx.get(f"{self._stack.scoring_url}/truth", timeout=60, trust_env=False).raise_for_status().json()
        )
        robot = truth["robot"]
        objects = {name: list(map(float, thing["position"])) for name, thing in truth["objects"].items()}
        return {"robot": [*robot["pose"], *robot["arm"], robot["opening"]], **objects}

    def growth_mb(self, name: str, warm: float = 0.4) -> float:
        """Return the growth of a process since `warm` of the messages [MB].

        Both sizes are medians over a fifth of the run, so that a single peak does not count.
        """
        sizes = self.sizes[name]
        if len(sizes) < 5:
            return 0.0
        fifth = max(1, len(sizes) // 5)
        begin = round(len(sizes) * warm) - fifth // 2
        return _median(sizes[-fifth:]) - _median(sizes[begin : begin + fifth])

    def names(self) -> list[str]:
        """Return the names of the processes that were measured."""
        return [name for name in self._processes if name in self.sizes]


def _median(sizes: list[tuple[int, float]]) -> float:
    ordered = sorted(size for _, size in sizes)
    return ordered[len(ordered) // 2]


def _moved(was: list[float] | None, now: list[float]) -> bool:
    return was is not None and any(abs(a - b) > MOVED for a, b in zip(was, now, strict=True))
