"""One episode: which objects are there, where, the robot's start, the light."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import numpy as np

from quartet_simulation.arm.collision import CollisionWorld
from quartet_simulation.errors import InvalidCommandError, SimulationError, UnknownNameError
from quartet_simulation.events import FETCHING, Change
from quartet_simulation.physics import Physics
from quartet_simulation.placing import Placing
from quartet_simulation.reachability import spin_is_free
from quartet_simulation.scenario import LIGHTS, Scenario, parse_scenario
from quartet_simulation.worlds import placement
from quartet_simulation.worlds.compile import PARKING, parking_of
from quartet_simulation.worlds.world import area_at

SETTLE_STEPS = 200
APART_M = 1.3
"""Between two robots at the start, and between a robot and the entry of an area that is not its own [m]."""
GRIP_SHARE = 6 / 7
"""A thing is put into the gripper when it is at most this share of the stroke wide."""


class Episode:
    """Sets the world up for a seed and a scenario.

    scenario.py has what a scenario may ask for. Each kind of draw has a random stream of its own, so that one does not
    change what the others draw: 1 things and the first robot, 2 other robots, 3 people in doors, 4 doors, 5 what
    happens to things, 6 where people walk.
    """

    def __init__(
        self, physics: Physics, checks: CollisionWorld, others: Sequence[tuple[Physics, CollisionWorld]] = ()
    ) -> None:
        """`physics` and `checks` of the first robot, and of each other one."""
        self._physics = physics
        self._checks = checks
        self._others = others
        self._light_diffuse = physics.model.light_diffuse.copy()
        self._head = (
            np.array(physics.model.vis.headlight.ambient),
            np.array(physics.model.vis.headlight.diffuse),
        )
        self.present: set[str] = set()
        self.gripper_position = physics.hand.open_position
        self.warmth = (1.0, 1.0, 1.0)
        self.homes: dict[str, str] = {}
        self.doorways: dict[str, str] = {}
        """Who stands in which door at the start."""
        self.walkers: set[str] = set()
        """Who walks about."""
        self.closed: set[str] = set()
        """Doors that are closed in this episode."""
        self.changes: list[Change] = []
        """What people do with things while it runs."""

    def begin(self, seed: int, scenario: str | None) -> None:
        """Place all objects for an episode and put the robots at their start."""
        wishes = parse_scenario(scenario, self._physics.world)
        world, physics = self._physics.world, self._physics
        rng = np.random.default_rng([seed & 0x7FFFFFFF, 1])
        for robot in (physics, *(other for other, _ in self._others)):
            robot.set_arm(robot.build.folded)
            robot.set_opening(robot.hand.stroke)
        # The other robots are away while objects are placed, so that their number does not change the layout.
        for number, (other, _) in enumerate(self._others):
            other.set_base_pose(PARKING[0] + 3.0 * number, PARKING[1] - 10.0, 0.0)
        for index, name in enumerate(world.objects):
            x, y = parking_of(index)
            physics.set_object(name, (x, y, physics.rest_height(name)))
        placing = Placing(physics, self._checks, wishes)
        placing.place(wishes, seed, rng)
        self.homes = {name: spot.home for name, spot in placing.spots.items()}
        self.present = set(placing.spots)
        self._place_robot(rng)
        self._place_others(seed)
        self._place_people(seed, wishes.person)
        self.walkers = {one.name for one in world.people if one.walks} | wishes.walks
        self._close_doors(seed, wishes.closed)
        self._light(wishes.light)
        self.gripper_position = physics.hand.open_position
        self.changes = self._plan_changes(seed, wishes, placing)
        physics.forward()
        mujoco.mj_step(physics.model, physics.data, nstep=SETTLE_STEPS)
        for name in wishes.in_gripper:
            self.put_in_gripper(name)
        physics.data.time = 0.0

    def radius(self, name: str) -> float:
        """Return the radius of an object around its upright axis [m]."""
        return self._physics.world.kinds[name].radius

    def _known(self, name: str) -> str:
        if name not in self._physics.objects:
            raise UnknownNameError("object", name, self._physics.objects)
        return name

    def _place_robot(self, rng: np.random.Generator) -> None:
        world = self._physics.world
        area = world.area(world.start_areas[int(rng.integers(len(world.start_areas)))])
        assert area is not None
        x, y, yaw = area.entry
        x, y, yaw = x + rng.uniform(-0.05, 0.05), y + rng.uniform(-0.05, 0.05), yaw + rng.uniform(-0.1, 0.1)
        self._physics.set_base_pose(float(x), float(y), float(yaw))

    def _place_others(self, seed: int) -> None:
        """Place the other robots on free floor, apart from each other. Raises SimulationError without room."""
        rng = np.random.default_rng([seed & 0x7FFFFFFF, 2])
        stand = [self._physics.base_pose()[:2]]
        x0, y0, x1, y1 = self._physics.world.bounds
        for physics, checks in self._others:
            for _ in range(placement.ATTEMPTS * 20):
                pose = (rng.uniform(x0, x1), rng.uniform(y0, y1), rng.uniform(-math.pi, math.pi))
                if min(math.dist(pose[:2], other) for other in stand) < APART_M or not self._may_stand(checks, pose):
                    continue
                physics.set_base_pose(*map(float, pose))
                stand.append(physics.base_pose()[:2])
                break
            else:
                raise SimulationError(f"no room for {len(self._others) + 1} robots in {physics.world.name}")

    def _may_stand(self, checks: CollisionWorld, pose: tuple[float, float, float]) -> bool:
        """Return whether `pose` is free, in an area, with room to turn, and clear of the entries."""
        world = self._physics.world
        if area_at(world, *pose[:2]) is None or min(math.dist(pose[:2], a.entry[:2]) for a in world.areas) < APART_M:
            return False
        checks.load(self._physics.data.qpos)
        checks.attach(None)
        return spin_is_free(checks, pose)

    def _place_people(self, seed: int, wanted: dict[str, str]) -> None:
        """Let people stand in doors: those of the file, and those of the scenario, in a door that the seed draws."""
        world, rng = self._physics.world, np.random.default_rng([seed & 0x7FFFFFFF, 3])
        robots = [physics.base_pose()[:2] for physics in (self._physics, *(other for other, _ in self._others))]
        self.doorways = {one.name: one.door for one in world.people if one.door is not None}
        for name, door in sorted(wanted.items()):
            # Nobody stands where a robot does, nor in another one's door.
            free = [
                one
                for one, at in world.doors.items()
                if one not in self.doorways.values() and min(math.dist(at, robot) for robot in robots) > APART_M
            ]
            if door or free:
                self.doorways[name] = door or free[int(rng.integers(len(free)))]

    def _close_doors(self, seed: int, wanted: set[str]) -> None:
        """Close doors; one without a name is drawn by the seed, where there is one that nobody stands in."""
        rng = np.random.default_rng([seed & 0x7FFFFFFF, 4])
        free = [door for door in self._physics.world.leaves if door not in self.doorways.values()]
        self.closed = {door for door in wanted if door}
        if "" in wanted and free:
            self.closed.add(free[int(rng.integers(len(free)))])
        for door in self.closed:
            self._physics.close_door(door)

    def _plan_changes(self, seed: int, wishes: Scenario, placing: Placing) -> list[Change]:
        """Return what somebody does with things while the episode runs. Raises SimulationError where that cannot be."""
        rng = np.random.default_rng([seed & 0x7FFFFFFF, 5])
        changes = list[Change]()
        for name, home in [*((name, None) for name in wishes.taken), *wishes.moved.items()]:
            if name not in placing.spots:
                raise SimulationError(f"nobody can take '{name}', which is not in the episode")
            moment = FETCHING[int(rng.integers(len(FETCHING)))]
            if home is None:
                changes.append(Change("taken", {name: None}, moment))
            else:
                changes.append(Change("moved", {name: placing.find_elsewhere(name, home, rng)}, moment))
        parcels = list(self._physics.world.parcels)
        for surface in (*wishes.full, *wishes.nearly_full):
            for spot in placing.cover(surface, len(parcels), room_for_one=surface in wishes.nearly_full):
                name = parcels.pop(0)
                placing.stand(name, spot)
                self.present.add(name)
        for surface in wishes.filled:
            spots = placing.cover(surface, len(parcels))
            changes.append(Change("filled", {parcels.pop(0): spot for spot in spots}, "under way"))
        return changes

    def _light(self, name: str) -> None:
        strength, self.warmth = LIGHTS[name]
        model = self._physics.model
        model.light_diffuse[:] = self._light_diffuse * strength
        model.vis.headlight.ambient[:] = self._head[0] * strength
        model.vis.headlight.diffuse[:] = self._head[1] * strength

    def put(self, name: str, x: float, y: float, z: float, yaw: float) -> None:
        """Stand an object on height z at (x, y) of map."""
        if not all(map(math.isfinite, (x, y, z, yaw))):
            raise InvalidCommandError(f"pose ({x}, {y}, {z}, {yaw}) must be finite")
        self._known(name)
        self.present.add(name)
        self._physics.stand(name, x, y, z, yaw)
        self._physics.forward()

    def put_in_gripper(self, name: str) -> None:
        """Close the fingers around an object at the hand, as after a top grasp."""
        physics, kind = self._physics, self._physics.world.kinds[self._known(name)]
        width = min(kind.size[0], kind.size[1])
        if width > physics.hand.stroke * GRIP_SHARE + 1e-9:
            raise InvalidCommandError(f"'{name}' is {width:.2f} m wide; the gripper opens {physics.hand.stroke} m")
        self.present.add(name)
        physics.set_opening(physics.hand.stroke)
        physics.forward()
        tool = physics.tool_pose()
        # The object's up is the tool's -z; its narrow side lies along the closing axis x.
        narrow_x = kind.size[0] <= kind.size[1]
        x_axis = tool[:3, 0] if narrow_x else tool[:3, 1]
        z_axis = -tool[:3, 2]
        rotation = np.column_stack([x_axis, np.cross(z_axis, x_axis), z_axis])
        hand = physics.hand
        depth = min(kind.half_height, hand.depth)
        position = tool[:3, 3] + tool[:3, 2] * (physics.arm.tip_m - hand.pad_half + kind.half_height - depth)
        start, dof = physics.object_qpos[name], physics.object_dof[name]
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, rotation.flatten())
        physics.data.qpos[start : start + 3], physics.data.qpos[start + 3 : start + 7] = position, quaternion
        physics.data.qvel[dof : dof + 6] = 0
        physics.set_opening(width)
        physics.servo_gripper(width - 0.06, hand.force)
        self.gripper_position = hand.closed_position
        mujoco.mj_step(physics.model, physics.data, nstep=SETTLE_STEPS)
