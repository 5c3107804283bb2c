"""Ground truth over HTTP on its own port, for benchmarks and tests; no server or agent uses it.

GET /truth, GET /overhead.jpg, GET /health, POST /reset {"world", "seed", "scenario"}, POST /place {"object",
"x", "y", "z", "yaw"}, POST /grasp {"object"}, POST /faults {"kinds": [...]}.
"""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, ConfigDict, Field

from quartet_simulation.http import HttpServer, as_json
from quartet_simulation.ros.cameras import jpeg
from quartet_simulation.ros.robot import Robot


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Reset(_Body):
    """A new episode; without a world the present one again."""

    world: str | None = None
    seed: int = Field(0, ge=0)
    scenario: str | None = None


class Place(_Body):
    """Puts an object somewhere, by scenario set-up only [m, rad] in map."""

    object: str
    x: float
    y: float
    z: float
    yaw: float = 0.0


class Grasp(_Body):
    """Starts the episode with an object between the fingers."""

    object: str


class FaultKinds(_Body):
    """The faults of the bridge that are on from now."""

    kinds: list[str]


class Scoring:
    """The scoring interface of one world; what it says of `robot` it says of the first, /truth of all."""

    def __init__(self, robot: Robot, *others: Robot) -> None:
        self._robot, self._others = robot, others

    def server(self) -> HttpServer:
        return HttpServer(
            {
                ("GET", "/truth"): self._truth,
                ("GET", "/overhead.jpg"): self._overhead,
                ("GET", "/health"): self._health,
                ("POST", "/reset"): self._reset,
                ("POST", "/place"): self._place,
                ("POST", "/grasp"): self._grasp,
                ("POST", "/faults"): self._faults,
            }
        )

    async def _truth(self, _: bytes) -> tuple[str, bytes]:
        return as_json(await self._robot.world.call(lambda sim: {"time": sim.time, **sim.truth()}))

    async def _overhead(self, _: bytes) -> tuple[str, bytes]:
        rgb, _depth = await self._robot.world.call(lambda sim: sim.render("overhead"))
        return "image/jpeg", await asyncio.to_thread(jpeg, rgb)

    async def _health(self, _: bytes) -> tuple[str, bytes]:
        robot = self._robot
        guard = {
            "latched": robot.guard.latched,
            "reason": robot.guard.reason,
            "standstill": robot.guard.standstill,
        }
        return as_json({"time": robot.world.time, "guard": guard, "faults": robot.faults.active})

    async def _reset(self, body: bytes) -> tuple[str, bytes]:
        wanted = Reset.model_validate_json(body or b"{}")
        await self._robot.world.reset(wanted.world, wanted.seed, wanted.scenario)
        for robot in (self._robot, *self._others):
            await robot.guard.begin_anew()
        return await self._truth(b"")

    async def _place(self, body: bytes) -> tuple[str, bytes]:
        wanted = Place.model_validate_json(body)
        await self._robot.world.change(
            lambda sim: sim.place_object(wanted.object, wanted.x, wanted.y, wanted.z, wanted.yaw)
        )
        return await self._truth(b"")

    async def _grasp(self, body: bytes) -> tuple[str, bytes]:
        wanted = Grasp.model_validate_json(body)
        await self._robot.world.change(lambda sim: sim.put_in_gripper(wanted.object))
        return await self._truth(b"")

    async def _faults(self, body: bytes) -> tuple[str, bytes]:
        self._robot.faults.set(FaultKinds.model_validate_json(body).kinds)
        return as_json({"faults": self._robot.faults.active})
