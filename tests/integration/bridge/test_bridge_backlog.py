"""A client that does not read gets newer messages, not a growing heap of old ones."""

from __future__ import annotations

import json
from typing import Any

import websockets


async def test_old_topic_messages_give_way_and_answers_stay(sim: Any, connect: Any) -> None:
    topic, text, count = "/chat", "x" * 1_000_000, 60
    async with (
        websockets.connect(sim.url, max_size=None, max_queue=1) as slow,
        connect(sim.url) as robot,
    ):
        await slow.send(json.dumps({"op": "subscribe", "topic": topic, "type": "std_msgs/String"}))
        await slow.send(json.dumps({"op": "call_service", "service": "/rosapi/get_time", "id": "ready"}))
        assert json.loads(await slow.recv())["id"] == "ready"
        await robot.send(op="advertise", topic=topic, type="std_msgs/String")
        for number in range(count):
            await robot.send(op="publish", topic=topic, msg={"data": f"{number:03d}{text}"})
        # The fast client is served while the slow one is stuck.
        await robot.call("/rosapi/get_time")
        await slow.send(json.dumps({"op": "call_service", "service": "/rosapi/get_time", "id": "answer"}))
        await robot.settled()
        numbers: list[int] = []
        answered: dict[str, Any] = {}
        while not answered:
            frame = json.loads(await slow.recv())
            if frame["op"] == "publish":
                numbers.append(int(frame["msg"]["data"][:3]))
            else:
                answered = frame
    assert answered["id"] == "answer"
    assert numbers == sorted(numbers)
    assert numbers[-1] == count - 1
    assert len(numbers) < count
