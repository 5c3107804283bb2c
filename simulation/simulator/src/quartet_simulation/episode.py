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
from quartet_simulation.reachability import drive_in_is_free, spin_is_free, visible_share
from quartet_simulation.scenario import LIGHTS, Scenario, parse_scenario
from quartet_simulation.worlds import placement
from quartet_simulation.worlds.compile import PARKING, parking_of
from quartet_simulation.worlds.parcels import covering
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
        self._placed: dict[str, placement.Spot] = {}
        self._spacing = placement.SPACINGS["roomy"]
        self._covers: dict[str, str] = {}
        self._kept_free: set[str] = set()
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
        self._spacing = placement.SPACINGS[wishes.spacing]
        self._covers = wishes.behind
        self._kept_free = wishes.kept_free
        self.homes = placement.choose_homes(world, seed, rng, wishes.absent, self._spacing.gathered)
        self.homes.update(wishes.at)
        # What could only stand on a surface that is kept free is not in the episode.
        free = {name: self._homes_of(name, home) for name, home in self.homes.items()}
        self.homes = {name: homes[0] for name, homes in free.items() if homes}
        far = set(wishes.out_of_reach)
        for robot in (physics, *(other for other, _ in self._others)):
            robot.set_arm(robot.build.folded)
            robot.set_opening(robot.hand.stroke)
        # The other robots are away while objects are placed, so that their number does not change the layout.
        for number, (other, _) in enumerate(self._others):
            other.set_base_pose(PARKING[0] + 3.0 * number, PARKING[1] - 10.0, 0.0)
        for index, name in enumerate(world.objects):
            x, y = parking_of(index)
            physics.set_object(name, (x, y, physics.rest_height(name)))
        spots = self._placed = {}
        # Objects that others hide come first, while their surfaces are empty, then those on the floor: the ways to all
        # others must lead around them.
        for name, cover in self._covers.items():
            self._hide(name, cover, spots, rng)
        for name, home in sorted(self.homes.items(), key=lambda item: not item[1].startswith("floor:")):
            if name not in far and name not in spots:
                spots[name] = self._find_spot(name, home, spots, rng)
                self._stand(name, spots[name])
        for name in wishes.out_of_reach:
            spots[name] = self._far_spot()
            self._stand(name, spots[name])
        self.homes = {name: spot.home for name, spot in spots.items()}
        self.present = set(spots)
        self._place_robot(rng)
        self._place_others(seed)
        self._place_people(seed, wishes.person)
        self.walkers = {one.name for one in world.people if one.walks} | wishes.walks
        self._close_doors(seed, wishes.closed)
        self._light(wishes.light)
        self.gripper_position = physics.hand.open_position
        self.changes = self._plan_changes(seed, wishes)
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

    def _stand(self, name: str, spot: placement.Spot) -> None:
        self._physics.stand(name, spot.x, spot.y, spot.support_z, spot.yaw)

    def _find_spot(
        self, name: str, home: str, spots: dict[str, placement.Spot], rng: np.random.Generator
    ) -> placement.Spot:
        """Return a spot in `home`, or in another home of the object when that is full.

        It is apart from what stands there, in view from the area's entry, and can be reached by a straight drive.
        """
        world = self._physics.world
        beside = self._spacing.beside > 0 and rng.random() < self._spacing.beside
        for where in self._homes_of(name, home):
            for attempt in range(placement.ATTEMPTS):
                # Where there is no room beside the others, it stands by itself.
                if beside and attempt < placement.ATTEMPTS / 2:
                    spot = placement.draw_beside(world, name, where, spots, rng)
                else:
                    spot = placement.draw_spot(world, name, where, rng)
                if (
                    spot is not None
                    and placement.apart(world, name, spot, spots, self._spacing.gap)
                    and self._can_be_fetched(name, spot)
                ):
                    return spot
        raise SimulationError(f"no room for '{name}' in {world.name}: {home} and its other homes are full")

    def _homes_of(self, name: str, first: str | None = None) -> list[str]:
        """Return where an object may stand in this episode, `first` before its other homes."""
        homes = [home for home in self._physics.world.homes[name] if home != first]
        if first is not None:
            homes.insert(0, first)
        return [home for home in homes if home not in self._kept_free]

    def _can_be_fetched(self, name: str, spot: placement.Spot) -> bool:
        physics = self._physics
        area = physics.world.area(placement.area_of(physics.world, spot.home))
        assert area is not None
        self._stand(name, spot)
        self._checks.attach(None)
        self._checks.load(physics.data.qpos)
        if not drive_in_is_free(self._checks, area.entry, (spot.x, spot.y), physics.build.pick_standoff):
            return False
        mujoco.mj_kinematics(physics.model, physics.data)
        # Neither the new object nor those that stand there already may be hidden, but for those that are meant to be.
        there = [name, *(other for other, place in self._placed.items() if place.home == spot.home)]
        least = self._spacing.visible_share
        return all(visible_share(physics, area.entry, n) >= least for n in there if n not in self._covers)

    def _hide(self, name: str, cover: str, spots: dict[str, placement.Spot], rng: np.random.Generator) -> None:
        """Place two objects, of which `cover` hides the other from the entry of their area."""
        world, physics = self._physics.world, self._physics
        for where in self._homes_of(name):
            area = world.area(placement.area_of(world, where))
            assert area is not None
            for _ in range(placement.ATTEMPTS):
                spot = placement.draw_spot(world, name, where, rng)
                before = placement.in_front(world, cover, spot, name, area.entry[:2], rng)
                if before is None or not all(
                    placement.apart(world, one, place, spots, self._spacing.gap)
                    for one, place in ((name, spot), (cover, before))
                ):
                    continue
                self._stand(cover, before)
                if (
                    self._can_be_fetched(name, spot)
                    and visible_share(physics, area.entry, name) <= placement.HIDDEN_SHARE
                ):
                    spots[name], spots[cover] = spot, before
                    return
                self._stand(cover, placement.Spot(*PARKING, 0.0, 0.0, where))
        raise SimulationError(f"no room for '{name}' behind '{cover}' in {world.name}: no surface is deep enough")

    def _far_spot(self) -> placement.Spot:
        """Return the back of the deepest surface, out of the arm's reach from every side where a robot can stand."""
        world = self._physics.world
        name, (x, y) = world.far_spot
        surface = world.surface(name)
        assert surface is not None
        return placement.Spot(x, y, surface.height, 0.0, name)

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

    def _plan_changes(self, seed: int, wishes: Scenario) -> list[Change]:
        """Return what somebody does with things while the episode runs. Raises SimulationError where that cannot be."""
        rng = np.random.default_rng([seed & 0x7FFFFFFF, 5])
        changes = list[Change]()
        for name, home in [*((name, None) for name in wishes.taken), *wishes.moved.items()]:
            if name not in self._placed:
                raise SimulationError(f"nobody can take '{name}', which is not in the episode")
            moment = FETCHING[int(rng.integers(len(FETCHING)))]
            if home is None:
                changes.append(Change("taken", {name: None}, moment))
            else:
                changes.append(Change("moved", {name: self._find_elsewhere(name, home, rng)}, moment))
        parcels = list(self._physics.world.parcels)
        for surface in (*wishes.full, *wishes.nearly_full):
            for spot in self._cover(surface, len(parcels), room_for_one=surface in wishes.nearly_full):
                name = parcels.pop(0)
                self._stand(name, spot)
                self.present.add(name)
        for surface in wishes.filled:
            spots = self._cover(surface, len(parcels))
            changes.append(Change("filled", {parcels.pop(0): spot for spot in spots}, "under way"))
        return changes

    def _cover(self, name: str, available: int, *, room_for_one: bool = False) -> list[placement.Spot]:
        surface = self._physics.world.surface(name)
        assert surface is not None
        self._physics.forward()
        return covering(self._physics, surface, available, room_for_one=room_for_one)

    def _find_elsewhere(self, name: str, home: str, rng: np.random.Generator) -> placement.Spot:
        """Return a spot where somebody puts an object: at `home`, or else near by, in its room or the next one."""
        here, world = self._placed[name], self._physics.world
        others = {other: spot for other, spot in self._placed.items() if other != name}
        try:
            near = [one for one in placement.homes_near(world, here.home, rng) if one not in self._kept_free]
            for where in [home] if home else near:
                for _ in range(placement.ATTEMPTS):
                    spot = placement.draw_spot(world, name, where, rng)
                    apart = placement.apart(world, name, spot, others, self._spacing.gap)
                    if apart and self._can_be_fetched(name, spot):
                        return spot
        finally:
            self._stand(name, here)
        raise SimulationError(f"no room to put '{name}' elsewhere: {home or 'all places near ' + here.home} full")

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
