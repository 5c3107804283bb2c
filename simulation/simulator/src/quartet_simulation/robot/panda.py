"""A Franka Panda with its hand as MuJoCo bodies: published kinematics, limits and masses, geometry of our own.

Kinematics, joint limits and speeds: Franka Emika, "Robot and interface specifications" (FCI documentation), whose
modified DH parameters are d1 0.333, d3 0.316, a4 0.0825, a5 -0.0825, d5 0.384, a7 0.088, flange 0.107; the hand is
turned by -45 degrees about the flange. Masses: Gaz et al., RA-L 2019. Links are capsules and boxes, no mesh.
"""

import math

import mujoco

from quartet_simulation.robot.parts import GROUP as ROBOT_GROUP

D1, D3, A4, D5, A7, FLANGE = 0.333, 0.316, 0.0825, 0.384, 0.088, 0.107
TCP = 0.1034
"""From the flange to the point between the fingers [m]."""
TIP = 0.004
"""From that point to the ends of the fingers [m]; the real ones end 5 mm lower, so that they do not grasp a ring."""
LOWER = (-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973)
UPPER = (2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973)
SPEED = (2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61)
"""Greatest speeds of the joints [rad/s]."""
FINGER_TRAVEL = 0.04
JOINTS = tuple(f"panda_joint{number}" for number in range(1, 8))
LINKS = tuple(f"panda_link{number}" for number in range(1, 8))
MOUNT, TOOL, HAND = "panda_link0", "panda_tool0", "hand"
TOOL_TURN = math.pi / 4
"""Of the tool frame about the flange's z axis, so that the fingers close along its x [rad]."""
PADS = ("left_pad", "right_pad")
ARM_BITS, OBJECT_BITS = 2, 1
_MASSES = (4.97, 0.65, 3.23, 3.59, 1.23, 1.67, 0.74)
_GAINS = ((4500, 450), (4500, 450), (3500, 350), (3500, 350), (2000, 200), (2000, 200), (2000, 200))
_TORQUE = (87, 87, 87, 87, 12, 12, 12)
_HALF = math.sqrt(0.5)
_DOWN, _UP = (_HALF, -_HALF, 0, 0), (_HALF, _HALF, 0, 0)
FRAMES = (
    ((0, 0, D1), (1, 0, 0, 0)),
    ((0, 0, 0), _DOWN),
    ((0, -D3, 0), _UP),
    ((A4, 0, 0), _UP),
    ((-A4, D5, 0), _DOWN),
    ((0, 0, 0), _UP),
    ((A7, 0, 0), _UP),
)
"""Each joint in the frame of the one before: position [m], quaternion (w, x, y, z); every joint turns about its z."""
_SHAPES = (
    ((0, 0, -0.24), (0, 0, -0.05), 0.06),
    ((0, -0.05, 0), (0, -0.2, 0), 0.06),
    ((0, 0, -0.1), (0.06, 0, -0.02), 0.055),
    ((0, 0, 0), (-0.07, 0.1, 0), 0.055),
    ((0, 0, -0.26), (0, 0.03, -0.06), 0.05),
    ((0, 0, 0), (0.08, 0, 0), 0.05),
    ((0, 0, 0), (0, 0, 0.07), 0.045),
)
_WHITE, _DARK, _PAD = (0.92, 0.92, 0.93, 1), (0.18, 0.18, 0.2, 1), (0.35, 0.35, 0.38, 1)


def add_panda(
    spec: mujoco.MjSpec, base: mujoco.MjsBody, pos: tuple[float, float, float], yaw: float = 0.0
) -> mujoco.MjsBody:
    """Add arm, hand and the actuators: JOINTS [rad] and `grip` [m of one finger]; return the hand. See add_arm."""
    return add_hand(spec, add_arm(spec, base, pos, yaw))


def add_arm(
    spec: mujoco.MjSpec, base: mujoco.MjsBody, pos: tuple[float, float, float], yaw: float = 0.0
) -> mujoco.MjsBody:
    """Add the arm and its actuators; return the flange, the body panda_tool0.

    Args:
        spec: specification that gets the actuators.
        base: body that the arm stands on.
        pos: where its foot stands, in the frame of `base` [m].
        yaw: its turn about the z axis of `base` [rad].
    """
    body = base.add_body(name=MOUNT, pos=pos, quat=(math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)))
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        name="panda_foot",
        pos=(0, 0, 0.035),
        size=[0.08, 0.035, 0],
        rgba=_DARK,
        contype=0,
        conaffinity=0,
        group=ROBOT_GROUP,
    )
    for number, ((pos, quat), (start, end, radius)) in enumerate(zip(FRAMES, _SHAPES, strict=True)):
        body = body.add_body(name=LINKS[number], pos=pos, quat=quat, gravcomp=1)
        body.add_joint(
            name=JOINTS[number],
            axis=(0, 0, 1),
            range=(LOWER[number], UPPER[number]),
            limited=True,
            armature=0.1,
            damping=1.0,
        )
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            name=LINKS[number],
            fromto=[*start, *end],
            size=[radius, 0, 0],
            mass=_MASSES[number],
            rgba=_WHITE,
            contype=ARM_BITS,
            conaffinity=OBJECT_BITS,
            group=ROBOT_GROUP,
        )
        actuator = spec.add_actuator(name=JOINTS[number], target=JOINTS[number], trntype=mujoco.mjtTrn.mjTRN_JOINT)
        kp, kv = _GAINS[number]
        actuator.set_to_position(kp=kp, kv=kv)
        actuator.forcelimited, actuator.forcerange = True, [-_TORQUE[number], _TORQUE[number]]
    turn = TOOL_TURN / 2
    return body.add_body(name=TOOL, pos=(0, 0, FLANGE), quat=(math.cos(turn), 0, 0, math.sin(turn)), gravcomp=1)


def add_hand(spec: mujoco.MjSpec, flange: mujoco.MjsBody) -> mujoco.MjsBody:
    """Add the hand, whose fingers close along x of the flange, and the actuator `grip`; return the hand."""
    hand = flange.add_body(name=HAND, quat=(math.sqrt(0.5), 0, 0, -math.sqrt(0.5)), gravcomp=1)
    _box(hand, "hand", (0, 0, 0.033), (0.0315, 0.102, 0.0255), 0.73, _WHITE)
    hand.add_site(name="tcp", pos=(0, 0, TCP), size=[0.004, 0, 0], rgba=(0, 0, 0, 0))
    for side, sign in (("left", 1), ("right", -1)):
        finger = hand.add_body(name=f"{side}_finger", pos=(0, 0, 0.0584), gravcomp=1)
        finger.add_joint(
            name=f"{side}_finger",
            type=mujoco.mjtJoint.mjJNT_SLIDE,
            axis=(0, sign, 0),
            range=(0, FINGER_TRAVEL),
            limited=True,
            armature=0.1,
            damping=10,
        )
        end = TCP - 0.0584 + TIP
        _box(finger, f"{side}_finger", (0, sign * 0.018, 0.012), (0.01, 0.008, 0.012), 0.01, _DARK)
        pad = _box(finger, f"{side}_pad", (0, sign * 0.006, end - 0.0115), (0.0095, 0.006, 0.0115), 0.01, _PAD)
        pad.friction, pad.condim, pad.priority = [1.3, 0.03, 0.0005], 4, 1
        # Stiffer than MuJoCo's default, with which a light thing creeps through the fingers.
        pad.solimp[:3], pad.solref = [0.95, 0.99, 0.001], [0.004, 1]
    spec.add_equality(
        type=mujoco.mjtEq.mjEQ_JOINT,
        objtype=mujoco.mjtObj.mjOBJ_JOINT,
        name1="left_finger",
        name2="right_finger",
        data=[0, 1] + [0] * 10,
        solref=[0.005, 1],
    )
    grip = spec.add_actuator(name="grip", target="left_finger", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    grip.set_to_position(kp=4000, kv=100)
    grip.forcelimited, grip.forcerange = True, [-20, 20]
    return hand


def _box(
    body: mujoco.MjsBody,
    name: str,
    pos: tuple[float, float, float],
    half: tuple[float, float, float],
    mass: float,
    rgba: tuple[float, float, float, float],
) -> mujoco.MjsGeom:
    return body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        name=name,
        pos=pos,
        size=half,
        mass=mass,
        rgba=rgba,
        contype=ARM_BITS,
        conaffinity=OBJECT_BITS,
        group=ROBOT_GROUP,
    )
