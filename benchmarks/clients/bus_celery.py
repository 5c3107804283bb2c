"""Celery with Redis as broker and as store of results; the worker has the pool `solo`, its fastest for one task."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bus_client import ANSWER_S, Asking, Given, Message, ask, given, result_of, tell
from celery import Celery
from celery.signals import worker_ready

told = given()
app = Celery("bus", broker=told.url, backend=told.url)
app.conf.update(
    task_default_queue="celery_requests",
    result_expires=3600,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
)


@app.task(name="answer")
def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a request."""
    return result_of(told, request)


def work() -> None:
    """Run the worker, which has a main loop of its own."""
    worker_ready.connect(lambda **_: tell(url=told.url), weak=False)
    app.worker_main(["worker", "--pool", "solo", "--loglevel", "ERROR", "--without-gossip", "--without-mingle"])


@asynccontextmanager
async def asking(_: Given) -> AsyncIterator[Asking]:
    """Send a task and wait for its result, which blocks: there is one request at a time."""

    async def send(request: Message) -> Message:
        return answer.delay(request).get(timeout=ANSWER_S)

    yield Asking(send)


if __name__ == "__main__":
    if sys.argv[1] == "answer":
        work()
    else:
        ask(asking)
