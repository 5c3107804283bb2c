"""What the calls of robots do."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np

from quartet_simulation.buildings.hand import Reach, reach
from quartet_simulation.buildings.scene import STEP_S, Call, Plan, Robot, Scene

WAIT = "wait"
LIMITS = MappingProxyType({"nav_to_obj": 1000, "pick": 100, "place": 100, "reset_arm": 100, WAIT: 500})
"""Functions that a robot can call, and most steps of each; a failed attempt takes them all."""
TURN_RAD_S, SLIDE_M_S = 1.5, 0.3
"""Speeds of the joints of all arms."""


def plan_of(scene: Scene, name: str, call: Call, seed: int) -> Plan:
    """Return what a call of a robot does now; one that cannot be done fails after the limit of its function."""
    robot = scene.robot(name)
    if call.name not in LIMITS:
        return _failed(robot, WAIT, f"there is no function '{call.name}'; valid: {', '.join(LIMITS)}")
    if call.name == WAIT:
        return Plan(True, "waited", LIMITS[WAIT], robot.stand)
    if call.name != "nav_to_obj" and robot.body.arm is None:
        return _failed(robot, call.name, f"'{name}' has no arm")
    if call.name == "reset_arm":
        return Plan(True, "the arm is folded", 1, robot.stand)
    if call.target_obj not in scene.things:
        return _failed(robot, call.name, f"there is no thing '{call.target_obj}'; valid: {', '.join(scene.things)}")
    if call.name == "nav_to_obj":
        return _drive(scene, name, call.target_obj)
    refusal = _pick_refusal(scene, name, call) if call.name == "pick" else _place_refusal(scene, name, call)
    return _failed(robot, call.name, refusal) if refusal else _reach(scene, robot, call, seed)


def _failed(robot: Robot, function: str, reason: str) -> Plan:
    return Plan(False, reason, LIMITS[function], robot.stand)


def _drive(scene: Scene, name: str, target: str) -> Plan:
    """Return the plan of a drive to the pose nearest to a thing, or as near to it as the robot gets."""
    robot, place, limit = scene.robot(name), scene.position(target), LIMITS["nav_to_obj"]
    start, routes = robot.stand, robot.routes
    near = routes.nearest(place.storey, place.position, start)
    goal, reason = near.stand, f"'{name}' stands {near.distance:.2f} m from '{target}'"
    if goal is None:
        stands = [routes.nearest(storey, place.position, start).stand for storey in routes.storeys(start)]
        goal = min(
            (stand for stand in stands if stand is not None),
            key=lambda stand: scene.building.distance(stand, place.storey, place.position),
            default=start,
        )
        left = scene.building.distance(goal, place.storey, place.position)
        reason = f"{_no_route(scene, name, place.storey)}; it gets as near as {left:.2f} m"
    route = routes.path(start, goal)
    if route is None or robot.speed == 0 < route.length:
        return _failed(
            robot, "nav_to_obj", f"'{name}' cannot move to '{target}'; its speed is {robot.speed:g} m a step"
        )
    steps = math.ceil(route.length / robot.speed) if route.length > 0 else 1
    if steps > limit:
        travelled = limit * robot.speed
        reason = f"the route is {route.length:.1f} m long, and '{name}' travels {travelled:.1f} m in {limit} steps"
        return Plan(False, reason, limit, route.stop(travelled), route)
    return Plan(near.stand is not None, reason, steps if near.stand is not None else limit, goal, route)


def _no_route(scene: Scene, name: str, storey: str) -> str:
    """Return why a robot does not get to a storey."""
    robot = scene.robot(name)
    mobility, stand = robot.body.file.mobility, robot.stand
    text = f"no route leads '{name}' from '{stand.storey}' to where it can stand on '{storey}'"
    steep = [stairs for stairs in scene.building.stairs if stairs not in robot.routes.stairs]
    if storey in robot.routes.storeys(stand) or not steep:
        return text
    given = ", ".join(f"'{one.name}' has {one.step_m:.2f} m and {one.slope_deg:.0f} degrees" for one in steep)
    return f"{text}: it climbs steps of {mobility.step_m:.2f} m and {mobility.slope_deg:.0f} degrees, and {given}"


def _pick_refusal(scene: Scene, name: str, call: Call) -> str:
    """Return why a robot cannot try to pick, or '' if it can."""
    target, robot = call.target_obj, scene.robot(name)
    if robot.held is not None:
        return f"'{name}' holds '{robot.held}', and picks only with an empty hand"
    if scene.things[target].kind != "object":
        objects = [one for one, thing in scene.things.items() if thing.kind == "object"]
        return f"'{target}' is a spot; valid: {', '.join(objects) or 'none'}"
    if (holder := scene.holder(target)) is not None:
        return f"'{holder}' holds '{target}'"
    return _other_storey(scene, name, target)


def _place_refusal(scene: Scene, name: str, call: Call) -> str:
    """Return why a robot cannot try to place, or '' if it can."""
    robot, spot = scene.robot(name), call.target_location
    if robot.held != call.target_obj:
        held = "nothing" if robot.held is None else f"'{robot.held}'"
        return f"'{name}' does not hold '{call.target_obj}'; it holds {held}"
    spots = [one for one, thing in scene.things.items() if thing.kind == "spot"]
    if spot not in spots:
        return f"there is no spot '{spot}'; valid: {', '.join(spots) or 'none'}"
    if (other := scene.object_at(spot)) is not None:
        return f"'{other}' is at '{spot}'"
    return _other_storey(scene, name, spot)


def _other_storey(scene: Scene, name: str, target: str) -> str:
    there, here = scene.position(target).storey, scene.where(name).storey
    return "" if there == here else f"'{target}' is on the storey '{there}', and '{name}' on '{here}'"


def _reach(scene: Scene, robot: Robot, call: Call, seed: int) -> Plan:
    """Return the plan of a pick or a place."""
    target = call.target_obj if call.name == "pick" else call.target_location
    place, stand = scene.position(target), robot.stand
    found = reach(robot.routes.floor(stand.storey), robot.body, stand, place.position, seed)
    if found.pose is None:
        away = math.dist((stand.x, stand.y), place.position[:2])
        measured = f"'{target}', {place.position[2]:.2f} m high and {away:.2f} m away"
        return _failed(robot, call.name, f"the hand does not get to {measured}; {_limit(found, away)}")
    base, joints = found.pose
    assert robot.body.arm is not None
    seconds = np.abs(joints - robot.folded) / np.where(robot.body.arm.chain.slides, SLIDE_M_S, TURN_RAD_S)
    steps = math.ceil(float(seconds.max()) / STEP_S)
    if (adjusted := math.dist((base.x, base.y), (stand.x, stand.y))) > 0:
        steps += math.ceil(adjusted / robot.speed) if robot.speed > 0 else LIMITS[call.name]
    if steps > LIMITS[call.name]:
        return _failed(robot, call.name, f"it takes more than {LIMITS[call.name]} steps to reach '{target}'")
    done = f"holds '{target}'" if call.name == "pick" else f"put '{call.target_obj}' at '{target}'"
    return Plan(True, done, max(steps, 1), base, seen=place)


def _limit(found: Reach, away: float) -> str:
    """Return which limit keeps a hand from a point at a horizontal distance [m]."""
    if found.farthest == 0:
        low, high = found.heights
        return f"it reaches heights from {low:.2f} to {high:.2f} m"
    reached = f"at that height it reaches {found.farthest:.2f} m"
    if away > found.farthest:
        return reached
    return f"{reached}, but no free pose of the arm was found from {found.tried} positions of the base near by"
