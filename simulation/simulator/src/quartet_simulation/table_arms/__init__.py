"""Several unlike arms at one table: one builder, and joint planning and execution for all of them.

    scene = build_table(
        [
            ArmAt("Alice", "ur5", foot=(-0.2, -0.2, 0.15), yaw=math.pi / 2, rail=(-1.3, 1.3)),
            ArmAt("Bob", "panda", foot=(0.6, 1.02, 0.1), yaw=-math.pi / 2, rail=(-1.5, 1.3), hand="suction"),
        ],
        [Thing("cube", (Shape("box", (0.025, 0.025, 0.025)),), (0.0, 0.4, 0.175), mass=0.1), add_cabinet],
    )
    above = {"Alice": HandPose.down((0.0, 0.4, 0.3), yaw=0.0), "Bob": None}     # None: it stays
    check = check_goals(scene, above)                   # which poses no joints reach, which bodies meet there
    plan = plan_motion(scene, above, seed=1)            # from the present state: MotionPlan or PlanFailure
    done = execute(scene, plan)                         # physics; rewinds the scene where it cannot be executed
    plan = plan_motion(scene, lower, allow=[("Alice", "cube")], straight=["Alice"])     # its tip on a line, no search
    plan = plan_motion(scene, away, level=["Alice"])    # its hand does not lean, as with something on a dustpan
    ...
    scene.grasp("Alice")                                # {"Alice": "cube"}, or None when the hand holds nothing
    scene.holds("Alice"), scene.hand_pose("Alice"), scene.position("cube")
    state = scene.snapshot(); ...; scene.restore(state)
    scene.release("Alice")

A rail lets the foot slide along the world's x axis. A hand is `fingers` (two, by friction), `suction` (a cup with
MuJoCo's adhesion), or a `BoltedTool`. The pose of a hand is that of its tip: between the ends of the fingers, the
middle of the cup's face, or the tip of the tool; z points out of the hand, and fingers close along x.

A name in `allow` is a body, or an arm, which stands for its hand; a tool pushes what it may touch. Everything that a
hand holds, and that lies on it, moves with it and is checked; held parts of mechanisms and ropes are left out, because
they do not follow one hand rigidly. Where their arm stays, they stay, and the search does not move that arm.
Equal seeds give equal plans: a search is limited by a number of collision checks, not by time.
"""

from quartet_simulation.table_arms.build import TableTop, add_arms, build_table
from quartet_simulation.table_arms.execute import Execution, execute
from quartet_simulation.table_arms.goals import Goal, GoalCheck, Goals, check_goals
from quartet_simulation.table_arms.kinds import KINDS, ArmAt
from quartet_simulation.table_arms.plan import MotionPlan, PlanFailure, plan_motion
from quartet_simulation.table_arms.poses import HandPose
from quartet_simulation.table_arms.scene import Scene, State
from quartet_simulation.table_arms.things import BoltedTool, Rope, Shape, Thing
from quartet_simulation.table_arms.tools import broom, dustpan

__all__ = [
    "KINDS",
    "ArmAt",
    "BoltedTool",
    "Execution",
    "Goal",
    "GoalCheck",
    "Goals",
    "HandPose",
    "MotionPlan",
    "PlanFailure",
    "Rope",
    "Scene",
    "Shape",
    "State",
    "TableTop",
    "Thing",
    "add_arms",
    "broom",
    "build_table",
    "check_goals",
    "dustpan",
    "execute",
    "plan_motion",
]
