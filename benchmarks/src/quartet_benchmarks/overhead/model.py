"""Model that asks for ten calls of tools and then ends, and notes when each client asked and was answered.

Between an answer and the next request of the same client lies all that the client does in a turn: reading the answer,
the call of the tool, what it writes down, the next request and, for Quartet, both ways through the gateway. The time
that this model takes is not in it.
"""

import json
import threading
import time
from collections import defaultdict
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from quartet_benchmarks.errors import MeasurementError

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_robot_pose", {"frame_id": "map"}),
    ("plan_and_execute", {"group": "arm", "target": "folded", "target_type": "named"}),
    ("look", {"area": "kitchen", "camera": "front"}),
    ("navigate_to_pose", {"x": 1.2, "y": -0.4, "yaw": 0.5, "frame_id": "map"}),
    ("detect_objects", {"prompt": "red can", "camera": "front", "threshold": 0.4}),
    ("clear_costmaps", {"which": "local"}),
    ("navigate_to_pose", {"x": 1.6, "y": -0.2, "yaw": 0.7, "frame_id": "map"}),
    ("detect_objects", {"prompt": "red can", "camera": "front", "threshold": 0.6}),
    ("look", {"area": "wooden table", "camera": "front"}),
    ("get_robot_pose", {"frame_id": "odom"}),
)
"""The calls of the task, in order, with every argument: one of the clients takes those with defaults for required."""
ANSWER = "The robot stands at the table."
ENDS = {
    "report_approach_result": {"success": True, "error_code": "NONE", "reason": ANSWER},
    "final_answer": {"answer": ANSWER},
}
"""Tools that end the task, for clients that have one."""


class Model:
    """The endpoint, below /CLIENT/v1, and the times of each client."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answered: dict[str, float] = {}
        self._gaps: dict[str, list[float]] = defaultdict(list)
        self._asked: dict[str, list[float]] = defaultdict(list)
        self.app = Starlette(routes=[Route("/{client}/v1/chat/completions", self._chat, methods=["POST"])])

    def times(self, client: str) -> tuple[list[float], float]:
        """Return and forget what `client` did since the last call: its time in each turn, and the model's own sum [s].

        Raises MeasurementError when it did not make as many requests as the task has.
        """
        with self._lock:
            gaps, own = self._gaps.pop(client, []), self._asked.pop(client, [])
            self._answered.pop(client, None)
        if len(own) != len(CALLS) + 1:
            raise MeasurementError(f"{client} asked the model {len(own)} times; the task has {len(CALLS) + 1} requests")
        return gaps, sum(own)

    async def _chat(self, request: Request) -> Response:
        body = await request.body()
        came = time.perf_counter()
        client = request.path_params["client"]
        answer = json.dumps(completion(json.loads(body))).encode()
        with self._lock:
            if (before := self._answered.get(client)) is not None:
                self._gaps[client].append(came - before)
            self._answered[client] = now = time.perf_counter()
            self._asked[client].append(now - came)
        return Response(answer, media_type="application/json")


def completion(body: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request: the next call of the task, by the number of answers in the conversation."""
    said = sum(message["role"] == "assistant" for message in body["messages"])
    offered = [tool["function"]["name"] for tool in body.get("tools") or []]
    if said < len(CALLS):
        name, arguments = CALLS[said]
        # The tools of Quartet have the name of their server before them.
        chosen = next((one for one in offered if one == name or one.endswith(f"__{name}")), name)
        message = _calling(said, chosen, arguments)
    elif end := next((one for one in offered if one in ENDS), None):
        message = _calling(said, end, ENDS[end])
    else:
        message = {"role": "assistant", "content": ANSWER}
    return {
        "id": f"chatcmpl-{said}",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        ],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050},
    }


def _calling(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}],
    }
