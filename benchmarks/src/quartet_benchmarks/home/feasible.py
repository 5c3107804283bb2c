"""Which episodes are possible: the oracle's verdict on their goals, and the codes with which others must end."""

import json
from dataclasses import replace
from pathlib import Path

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.home.harm import left_alone
from quartet_benchmarks.home.oracle import Arm, Oracle
from quartet_benchmarks.home.templates import Episode
from quartet_benchmarks.home.world import Truth
from quartet_site import load_robot

RIGHT_CODES = {
    ("pick", "gone"): {"NAV_TARGET_NOT_VISIBLE", "PICK_SEG_MISSED", "NAV_VERIFY_OVERRIDE"},
    # Where nobody says where a thing is, the robot looks for it in the other rooms as well.
    ("pick", "way"): {"NAV_DRIVE_FAILED", "NAV_TARGET_NOT_VISIBLE"},
    ("pick", "reach"): {"NAV_DRIVE_FAILED", "PICK_REACH_EXCEEDED", "PICK_PLAN_FAILED"},
    ("pick", "clearance"): {
        "NAV_TARGET_NOT_VISIBLE", "PICK_SEG_MISSED", "PICK_PLAN_FAILED", "PICK_REACH_EXCEEDED",
    },
    ("put", "way"): {"NAV_DRIVE_FAILED"},
    ("put", "reach"): {"NAV_DRIVE_FAILED", "PLACE_PLAN_FAILED", "PLACE_REACH_EXCEEDED"},
    ("put", "clearance"): {"PLACE_SEG_MISSED", "PLACE_PLAN_FAILED", "PLACE_REACH_EXCEEDED"},
    ("put", "room"): {"PLACE_SEG_MISSED", "PLACE_PLAN_FAILED", "PLACE_REACH_EXCEEDED"},
}  # fmt: skip
"""Codes one of which must end the work on an object, by what the oracle finds impossible about it."""


def load_arm(folder: Path) -> Arm:
    """Return the arm of a robot from the resume and robot file in a folder. Raises OptionError without a reach."""
    file, gripper = folder / "resume.json", load_robot(folder / "robot.yaml").gripper
    reach = json.loads(file.read_text(encoding="utf-8")).get("reach") if file.is_file() else None
    if reach is None:
        raise OptionError(
            f"robot: {file} states no reach of an arm, by which jobs are judged; write it with "
            f"`quartet resume ROBOT --format json`, or choose a robot with an arm"
        )
    return Arm(reach["bands"], gripper.finger_offset_m, gripper.finger_thickness_m)


def judged(episode: Episode, before: Truth, after: Truth, arm: Arm) -> Episode:
    """Return the episode with the oracle's verdict on it.

    The oracle sees the world at the start with the changes that people made until the end, so an object that nobody
    took is to be fetched, and one that was moved is to be found.
    """
    world = {**before, "objects": left_alone(before, after), "layout": after["layout"]}
    oracle = Oracle(world, arm, {goal.object for goal in episode.goals})
    verdicts = [(goal, oracle.judge(goal.object, goal.kind, goal.target)) for goal in episode.goals]
    impossible = {goal.object: verdict for goal, verdict in verdicts if verdict}
    return replace(
        episode,
        feasible=not impossible,
        right_codes={name: frozenset(RIGHT_CODES[one.step, one.reason]) for name, one in impossible.items()},
        impossible=tuple(f"{name}: {one.step}, {one.reason}" for name, one in impossible.items()),
    )
