"""Robots that act in a building at the same time, without physics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from quartet_simulation.arm.model import standing
from quartet_simulation.bodies.body import Body
from quartet_simulation.buildings.building import Building, Stand
from quartet_simulation.buildings.hand import reach
from quartet_simulation.buildings.routes import Route, Routes, routes_of
from quartet_simulation.buildings.things import Call, Ended, Place, Thing
from quartet_simulation.errors import SimulationError, UnknownNameError

STEP_S = 0.1
"""Simulated time of a step [s]."""
LIMITS = MappingProxyType({"nav_to_obj": 1000, "pick": 100, "place": 100, "reset_arm": 100, "wait": 500})
"""Functions that a robot can call, and most steps of each; a failed attempt takes them all."""
TURN_RAD_S, SLIDE_M_S = 1.5, 0.3
"""Speeds of the joints of all arms."""
AT_SPOT_M = 0.02
"""An object is at a spot that is at most so far from it."""


@dataclass(frozen=True)
class Pose:
    """A robot: pose of its base, and joints (J,) of its arm."""

    stand: Stand
    joints: np.ndarray


@dataclass(frozen=True)
class Plan:
    """What an action will do, unless another robot interferes: where the robot ends, and how it drives there."""

    ok: bool
    reason: str
    steps: int
    pose: Pose
    route: Route | None = None
    fold: int = 0
    """Steps before the robot drives, in which it folds its arm."""
    seen: Place | None = None
    """Where the thing to pick was when the action began."""


@dataclass
class Robot:
    """A robot of the episode: where it is, what it holds, and its action with the step in which it began."""

    body: Body
    routes: Routes
    pose: Pose
    held: str | None = None
    action: tuple[Call, Plan, int] | None = None

    @property
    def folded(self) -> np.ndarray:
        """Joints of the arm in the body's posture (J,); none without an arm."""
        arm = self.body.arm
        return np.empty(0) if arm is None else self.body.posture[self.body.model.jnt_qposadr[list(arm.joints)]]

    @property
    def speed(self) -> float:
        """Distance that it travels in a step [m]."""
        return self.body.file.mobility.speed_m_s * STEP_S

    def arm_steps(self, start: np.ndarray, goal: np.ndarray) -> int:
        """Return how many steps the arm takes from joints to joints (J,)."""
        if self.body.arm is None:
            return 0
        speeds = np.where(self.body.arm.chain.slides, SLIDE_M_S, TURN_RAD_S)
        return math.ceil(float((np.abs(goal - start) / speeds).max()) / STEP_S - 1e-9)


class Household:
    """A kinematic episode: robots, things, and time in steps of STEP_S; equal seeds and calls give equal results.

    Robots act at the same time and pass through each other. `begin` starts an action, `advance` lets time pass until an
    action ends. A call that makes no sense ends as failed.

    Args:
        building: where it takes place.
        robots: body of each robot.
        things: objects and spots by name.
        starts: pose of each robot at the start.
        step_limit: the episode ends after so many steps.
        seed: of the search for hand poses.

    Raises:
        UnknownNameError: a storey or a robot that is not there.
        SimulationError: a robot that has no start, or cannot stand there.
    """

    functions = tuple(LIMITS)

    def __init__(
        self,
        building: Building,
        robots: Mapping[str, Body],
        things: Mapping[str, Thing],
        starts: Mapping[str, Stand],
        *,
        step_limit: int | None = None,
        seed: int = 0,
    ) -> None:
        self.building, self.things, self.step_limit = building, dict(things), step_limit
        self.steps = 0
        """Steps that have passed."""
        self._seed = seed
        for thing in things.values():
            building.storey(thing.storey)
        self._places = {name: Place(thing.storey, thing.position) for name, thing in things.items()}
        if unknown := sorted(set(starts) - set(robots)):
            raise UnknownNameError("robot", unknown[0], robots)
        self._robots: dict[str, Robot] = {}
        for name, body in robots.items():
            if name not in starts:
                raise SimulationError(f"the robot '{name}' has no start; give its pose, as for {', '.join(starts)}")
            self._robots[name] = self._at_start(name, body, starts[name])

    @property
    def over(self) -> bool:
        """Whether the limit of steps is reached."""
        return self.step_limit is not None and self.steps >= self.step_limit

    @property
    def robots(self) -> dict[str, Body]:
        """Body of each robot."""
        return {name: robot.body for name, robot in self._robots.items()}

    def busy(self, robot: str) -> bool:
        """Return whether a robot acts. Raises UnknownNameError."""
        return self._robot(robot).action is not None

    def held(self, robot: str) -> str | None:
        """Return what a robot holds. Raises UnknownNameError."""
        return self._robot(robot).held

    def where(self, robot: str) -> Stand:
        """Return where the base of a robot is now; on stairs, in the map of the storey from which it comes.

        Raises UnknownNameError.
        """
        return self.pose(robot).stand

    def pose(self, robot: str) -> Pose:
        """Return base and arm of a robot now. Raises UnknownNameError."""
        one = self._robot(robot)
        if one.action is None:
            return one.pose
        _, plan, begun = one.action
        driven = self.steps - begun - plan.fold
        if plan.route is None or driven <= 0:
            return one.pose
        return Pose(plan.route.at(driven * one.speed), one.folded)

    def position(self, thing: str) -> Place:
        """Return where the centre of a thing is now. Raises UnknownNameError."""
        if thing not in self.things:
            raise UnknownNameError("thing", thing, self.things)
        holder = self._holder(thing)
        return self._places[thing] if holder is None else self._in_hand(holder)

    def distance(self, robot: str, thing: str) -> float:
        """Return the distance in space from the base frame of a robot to the centre of a thing [m].

        Raises UnknownNameError.
        """
        place = self.position(thing)
        return self.building.distance(self.where(robot), place.storey, place.position)

    def at(self, thing: str, spot: str) -> bool:
        """Return whether a thing is at a spot, and in no hand. Raises UnknownNameError."""
        one, other = self.position(thing), self.position(spot)
        near = one.storey == other.storey and math.dist(one.position, other.position) <= AT_SPOT_M
        return near and self._holder(thing) is None

    def begin(self, robot: str, call: Call) -> None:
        """Start an action. Raises UnknownNameError, and SimulationError if the robot acts already."""
        one = self._robot(robot)
        if one.action is not None:
            raise SimulationError(f"the robot '{robot}' acts already ({one.action[0].name}); wait until that ends")
        one.action = (call, self._plan(robot, one, call), self.steps)

    def advance(self) -> list[Ended]:
        """Let time pass until at least one action ends, and return those that end then.

        Returns nothing if the limit of steps comes first. Raises SimulationError if no robot acts.
        """
        ends = {
            name: robot.action[2] + robot.action[1].steps
            for name, robot in self._robots.items()
            if robot.action is not None
        }
        if not ends:
            raise SimulationError("no robot acts, so no action can end; begin one first")
        now = min(ends.values())
        if self.step_limit is not None and now > self.step_limit:
            self.steps = self.step_limit
            return []
        self.steps = now
        return [self._end(name, self._robots[name]) for name, end in ends.items() if end == now]

    def _robot(self, name: str) -> Robot:
        if name not in self._robots:
            raise UnknownNameError("robot", name, self._robots)
        return self._robots[name]

    def _at_start(self, name: str, body: Body, start: Stand) -> Robot:
        routes = routes_of(self.building, body)
        floor = routes.floor(start.storey)
        if not floor.part_at(start.x, start.y):
            raise SimulationError(
                f"the robot '{name}' cannot stand at ({start.x:g}, {start.y:g}) on '{start.storey}': no floor that is "
                "free for it is near; give another start"
            )
        robot = Robot(body, routes, Pose(replace(start, height=floor.height), np.empty(0)))
        robot.pose = replace(robot.pose, joints=robot.folded)
        return robot

    def _holder(self, thing: str) -> str | None:
        return next((name for name, robot in self._robots.items() if robot.held == thing), None)

    def _in_hand(self, name: str) -> Place:
        """Return where the grasp point of a robot is."""
        body, pose = self._robots[name].body, self.pose(name)
        stand = pose.stand
        hand = standing((stand.x, stand.y, stand.height), stand.yaw) @ body.tip_at(pose.joints)
        x, y, z = (float(value) for value in hand[:3, 3])
        return Place(stand.storey, (x, y, z))

    def _plan(self, name: str, robot: Robot, call: Call) -> Plan:
        if call.name not in LIMITS:
            return self._failed(robot, "wait", f"there is no function '{call.name}'; valid: {', '.join(LIMITS)}")
        if call.name == "wait":
            return Plan(True, "waited", LIMITS["wait"], robot.pose)
        if call.name == "reset_arm":
            if robot.body.arm is None:
                return self._failed(robot, "reset_arm", f"'{name}' has no arm")
            steps = robot.arm_steps(robot.pose.joints, robot.folded)
            return self._timed(
                robot, call, Plan(True, "the arm is folded", steps, Pose(robot.pose.stand, robot.folded))
            )
        if call.target_obj not in self.things:
            return self._failed(
                robot, call.name, f"there is no thing '{call.target_obj}'; valid: {', '.join(self.things)}"
            )
        if call.name == "nav_to_obj":
            return self._drive(name, robot, call)
        refusal = self._refusal(name, robot, call)
        return self._failed(robot, call.name, refusal) if refusal else self._reach(robot, call)

    def _failed(self, robot: Robot, function: str, reason: str) -> Plan:
        return Plan(False, reason, LIMITS[function], robot.pose)

    def _timed(self, robot: Robot, call: Call, plan: Plan) -> Plan:
        """Return a plan that takes at least one step, or fails if it takes more than the limit."""
        limit = LIMITS[call.name]
        if plan.steps > limit:
            return self._failed(robot, call.name, f"it would take {plan.steps} steps; the limit is {limit}")
        return replace(plan, steps=max(plan.steps, 1))

    def _drive(self, name: str, robot: Robot, call: Call) -> Plan:
        """Return the plan of a drive to the nearest pose to a thing, or as near to it as the robot gets."""
        start, routes, place = robot.pose.stand, robot.routes, self.position(call.target_obj)
        near, limit = routes.nearest(place.storey, place.position, start), LIMITS["nav_to_obj"]
        goal, ok, reason = near.stand, True, f"'{name}' stands {near.distance:.2f} m from '{call.target_obj}'"
        if goal is None:
            stands = [routes.nearest(storey, place.position, start).stand for storey in routes.storeys(start)]
            goal = min(
                (stand for stand in stands if stand is not None),
                key=lambda stand: self.building.distance(stand, place.storey, place.position),
                default=start,
            )
            left = self.building.distance(goal, place.storey, place.position)
            ok, reason = False, f"{self._no_route(name, robot, place.storey)}; it gets as near as {left:.2f} m"
        route = routes.path(start, goal)
        if route is None or (robot.speed == 0 and route.length > 0):
            return self._failed(robot, "nav_to_obj", reason if not ok else f"'{name}' cannot move; its speed is 0")
        fold = robot.arm_steps(robot.pose.joints, robot.folded)
        steps = fold + (math.ceil(route.length / robot.speed) if route.length > 0 else 0)
        if steps > limit:
            travelled = (limit - fold) * robot.speed
            reason = f"the route is {route.length:.1f} m long, and '{name}' travels {travelled:.1f} m in {limit} steps"
            return Plan(False, reason, limit, Pose(route.stop(travelled), robot.folded), route, fold)
        return Plan(ok, reason, max(steps, 1) if ok else limit, Pose(goal, robot.folded), route, fold)

    def _no_route(self, name: str, robot: Robot, storey: str) -> str:
        mobility, here = robot.body.file.mobility, robot.pose.stand.storey
        text = f"no route leads '{name}' from '{here}' to where it can stand on '{storey}'"
        stairs = [one for one in self.building.stairs if one not in robot.routes.stairs]
        if storey in robot.routes.storeys(robot.pose.stand) or not stairs:
            return text
        given = ", ".join(f"'{one.name}' has {one.step_m:.2f} m and {one.slope_deg:.0f} degrees" for one in stairs)
        return f"{text}: it climbs steps of {mobility.step_m:.2f} m and {mobility.slope_deg:.0f} degrees, and {given}"

    def _refusal(self, name: str, robot: Robot, call: Call) -> str:
        """Return why a robot cannot try to pick or place, or '' if it can."""
        target, spot = call.target_obj, call.target_location
        goal = target if call.name == "pick" else spot
        if robot.body.arm is None:
            return f"'{name}' has no arm"
        if call.name == "pick" and robot.held is not None:
            return f"'{name}' holds '{robot.held}', and picks only with an empty hand"
        if call.name == "pick" and self.things[target].kind != "object":
            objects = ", ".join(one for one, thing in self.things.items() if thing.kind == "object")
            return f"'{target}' is a place; valid: {objects}"
        if call.name == "pick" and (holder := self._holder(target)) is not None:
            return f"'{holder}' holds '{target}'"
        if call.name == "place" and robot.held != target:
            return f"'{name}' does not hold '{target}'; it holds {repr(robot.held) if robot.held else 'nothing'}"
        if call.name == "place" and (spot not in self.things or self.things[spot].kind != "spot"):
            spots = ", ".join(one for one, thing in self.things.items() if thing.kind == "spot")
            return f"there is no place '{spot}'; valid: {spots or 'none'}"
        if call.name == "place" and (other := self._on(spot)) is not None:
            return f"'{other}' is at '{spot}'"
        storey = self.position(goal).storey
        if storey != robot.pose.stand.storey:
            return f"'{goal}' is on the storey '{storey}', and '{name}' on '{robot.pose.stand.storey}'"
        return ""

    def _on(self, spot: str) -> str | None:
        """Return an object that stands at a spot."""
        objects = [name for name, thing in self.things.items() if thing.kind == "object"]
        return next((name for name in objects if self.at(name, spot)), None)

    def _reach(self, robot: Robot, call: Call) -> Plan:
        """Return the plan of a pick or a place."""
        target = call.target_obj if call.name == "pick" else call.target_location
        place, stand = self.position(target), robot.pose.stand
        x, y, z = place.position
        found = reach(robot.routes.floor(stand.storey), robot.body, stand, place.position, self._seed)
        if found.found is None:
            away = math.hypot(x - stand.x, y - stand.y)
            reason = f"the hand does not get to '{target}', {z:.2f} m high and {away:.2f} m away"
            if not found.tried:
                reason += f"; it reaches {found.farthest:.2f} m at most"
            return self._failed(robot, call.name, f"{reason}; {found.tried} poses near by were tried")
        base, joints = found.found
        adjusted = math.hypot(base.x - stand.x, base.y - stand.y)
        if adjusted > 0 and robot.speed == 0:
            return self._failed(robot, call.name, f"it would have to move by {adjusted:.2f} m; its speed is 0")
        steps = math.ceil(adjusted / robot.speed) if adjusted > 0 else 0
        steps += robot.arm_steps(robot.pose.joints, robot.folded) if adjusted > 0 else 0
        steps += robot.arm_steps(robot.folded if adjusted > 0 else robot.pose.joints, joints)
        done = f"holds '{target}'" if call.name == "pick" else f"put '{call.target_obj}' at '{target}'"
        return self._timed(robot, call, Plan(True, done, steps, Pose(base, joints), seen=place))

    def _end(self, name: str, robot: Robot) -> Ended:
        """Carry out what the action of a robot does at its end."""
        assert robot.action is not None
        call, plan, _ = robot.action
        ok, reason = plan.ok, plan.reason
        robot.action, robot.pose = None, plan.pose
        if ok and call.name == "pick":
            if self._holder(call.target_obj) is not None or self._places[call.target_obj] != plan.seen:
                ok, reason = False, f"another robot took '{call.target_obj}'"
            else:
                robot.held = call.target_obj
        elif ok and call.name == "place":
            if (other := self._on(call.target_location)) is not None:
                ok, reason = False, f"'{other}' is at '{call.target_location}'"
            else:
                self._places[call.target_obj], robot.held = self._in_hand(name), None
        return Ended(name, call, ok, reason, plan.steps)
