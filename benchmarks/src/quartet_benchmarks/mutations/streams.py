"""Mutated entries of the Redis streams: tasks, skill requests, results and notifications."""

import time
from typing import Any

import jwt
import redis.asyncio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quartet_benchmarks.mutations.mutate import Mutator
from quartet_contracts import ALGORITHM, ARGUMENTS, GrantClaims, Skill, audience, granted_tools
from quartet_deployment import Stack

PREFIX = "quartet"
ARGUMENTS_OF: dict[Skill, dict[str, Any]] = {
    Skill.APPROACH: {"target_area": "studio", "object_name": "red coke can", "next_action": "pick"},
    Skill.PICK: {"object_name": "red coke can"},
    Skill.PLACE: {"target_location": "wooden table", "object_name": "red coke can", "object_height_m": 0.12},
    Skill.EXECUTOR: {"code": "open_gripper()"},
}


class StreamSurface:
    """Writes invalid entries onto the streams of a stack, past every check of a client."""

    name = "streams"

    def __init__(self, stack: Stack, mutator: Mutator) -> None:
        self._robot, self._mutator = stack.robot, mutator
        self._redis = redis.asyncio.Redis.from_url(stack.redis_url)
        # A writer to the bus cannot sign grants: only the orchestrator has the key.
        self._stranger = Ed25519PrivateKey.generate()
        self._count = 0
        self._replies: list[bytes] = []

    async def close(self) -> None:
        """Close its connections."""
        await self._redis.aclose()

    async def open(self) -> None:
        """Find the streams on which the orchestrator reads results."""
        replicas = await self._redis.xinfo_consumers(f"{PREFIX}:tasks:{self._robot}", "orchestrator")
        self._replies = [f"{PREFIX}:replies:{skill}:".encode() + row["name"] for row in replicas for skill in Skill]

    async def send(self, number: int) -> None:
        """Write `number` entries at once."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for _ in range(number):
                self._add(pipe)
            await pipe.execute()

    async def drained(self) -> bool:
        """Whether every consumer has read all of it and holds nothing."""
        for stream in (f"{PREFIX}:tasks:{self._robot}", *(f"{PREFIX}:skill:{skill}" for skill in Skill)):
            for group in await self._redis.xinfo_groups(stream):
                if group["pending"] or group["lag"]:
                    return False
        return True

    def _add(self, pipe: Any) -> None:
        dice = self._mutator.dice
        self._count += 1
        match dice.randrange(8):
            case 0 | 1:
                pipe.xadd(f"{PREFIX}:tasks:{self._robot}", self._fields(self._task()))
            case 2 | 3 | 4:
                skill = dice.choice(list(Skill))
                pipe.xadd(f"{PREFIX}:skill:{skill}", self._fields(self._request(skill)))
            case 5 | 6:
                stream = dice.choice(self._replies) if self._replies else f"{PREFIX}:replies:approach:nobody"
                pipe.xadd(stream, self._fields(self._result(dice.choice(list(Skill)))), maxlen=10_000)
            case _:
                topic = dice.choice([f"tasks:{self._robot}", "cancel:t1", "pause:t1", "answer:q1", "skill:r1"])
                pipe.publish(f"{PREFIX}:signal:{topic}", self._mutator.damaged(b"wake up"))

    def _fields(self, message: dict[str, Any]) -> Any:
        """Nearly always under the field that is read."""
        data = self._mutator.text(message)
        if self._mutator.dice.random() < 0.9:
            return {b"m": data}
        return {self._mutator.damaged(b"m"): data, b"other": b"field"}

    def _task(self) -> dict[str, Any]:
        """Over already, and about nothing that there is."""
        task_id = f"mutated-{self._count}"
        task = {"task_id": task_id, "sentence": "sing a song about the sea", "robot": self._robot}
        return {"schema_version": "1.0", **task, "created_at": 1.0, "deadline": 2.0, "budget": {"turns": 1}}

    def _request(self, skill: Skill) -> dict[str, Any]:
        """Its grant is signed by a stranger; one in four could still be begun."""
        request_id, now = f"mutated-{self._count}", time.time()
        claims = GrantClaims(
            sub=str(skill),
            aud=audience(self._robot),
            iat=int(now),
            exp=int(now) + 600,
            jti=request_id,
            fence=10**9,
            tools=granted_tools(skill),
        )
        return {
            "schema_version": "1.0",
            "request_id": request_id,
            "task_id": request_id,
            "robot": self._robot,
            "skill": str(skill),
            "attempt": 1,
            "created_at": now,
            "deadline": now + 30 if self._mutator.dice.random() < 0.02 else now - 30,
            "arguments": ARGUMENTS[skill].model_validate(ARGUMENTS_OF[skill]).model_dump(mode="json"),
            "grant": jwt.encode(claims.model_dump(), self._stranger, algorithm=ALGORITHM),
            "reply_to": f"{PREFIX}:replies:{skill}:nobody",
            "budget": {"turns": 2},
        }

    def _result(self, skill: Skill) -> dict[str, Any]:
        return {
            "schema_version": "1.0",
            "request_id": f"mutated-{self._count}",
            "task_id": "t1",
            "skill": str(skill),
            "state": "SUCCEEDED",
            "success": True,
            "error_code": "NONE",
            "reason": "done",
            "tool_calls_used": 3,
        }
