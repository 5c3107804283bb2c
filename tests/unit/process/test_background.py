"""Background tasks: none of them ends unseen."""

import asyncio

from quartet_process import REGISTRY, BackgroundTasks
from quartet_process import _background as module


def failures(name: str) -> float:
    return REGISTRY.get_sample_value("quartet_background_failures_total", {"background_task": name}) or 0.0


async def test_a_failed_task_is_started_again_and_told(caplog, monkeypatch):
    monkeypatch.setattr(module, "STEADY_S", 0.02)
    tasks, runs, seen, done = BackgroundTasks(), [], [], asyncio.Event()

    async def renew():
        seen.append(tasks.problem)
        runs.append(1)
        if len(runs) < 3:
            raise OSError("the store is busy")
        await done.wait()

    before = failures("renewer")
    task = tasks.start("renewer", renew, restart_s=0.01)
    while len(runs) < 3 or tasks.problem is not None:  # noqa: ASYNC110 - the steady time has no event
        await asyncio.sleep(0.005)
    assert seen == [None, *["renewer: OSError: the store is busy"] * 2], "a restart alone is no recovery"
    assert failures("renewer") - before == 2
    assert caplog.text.count("the background task renewer failed; started again in 0.01 s") == 2
    done.set()
    await task
    assert tasks.problem is None


async def test_a_task_that_is_not_started_again_stays_a_problem(caplog):
    tasks = BackgroundTasks()

    async def once():
        raise ValueError("no")

    await tasks.start("once", once, restart_s=None)
    assert tasks.problem == "once: ValueError: no"
    assert "it is not started again" in caplog.text
    await tasks.close()
    assert tasks.problem is None


async def test_a_failed_task_that_is_canceled_is_no_problem_any_more():
    tasks = BackgroundTasks()

    async def fails():
        raise OSError("the store is busy")

    task = tasks.start("fails", fails, restart_s=60)
    while tasks.problem is None:  # noqa: ASYNC110 - the failure has no event
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert tasks.problem is None


async def test_closing_cancels_what_runs_and_is_no_failure():
    tasks, before = BackgroundTasks(), failures("endless")
    task = tasks.start("endless", asyncio.Event().wait)
    await asyncio.sleep(0)
    await tasks.close()
    assert task.cancelled()
    assert tasks.problem is None
    assert failures("endless") == before
