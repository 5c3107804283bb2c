"""The mobile robot's arm and gripper for planners and controllers."""

from quartet_simulation.arm import kinematics
from quartet_simulation.arm.model import ArmModel, GripperModel
from quartet_simulation.robot import dimensions as dim

ARM = ArmModel(
    robot="summit",
    group="manipulator",
    base="base_footprint",
    mount="arm_base",
    joints=dim.ARM_JOINTS,
    links=dim.ARM_LINKS,
    tool="arm_tool0",
    tip="gripper_tip",
    tip_m=dim.FINGER_OFFSET,
    fingers=("left_finger", "right_finger"),
    lower=dim.JOINT_LOWER,
    upper=dim.JOINT_UPPER,
    speed=dim.JOINT_SPEED,
    acceleration=dim.JOINT_ACCELERATION,
    weights=(1.5, 1.5, 1.2, 0.6, 0.6, 0.4),
    forward=kinematics.forward,
    inverse=lambda pose, _: kinematics.inverse(pose),
)
GRIPPER = GripperModel(
    action="/robotiq_gripper_controller/gripper_cmd",
    node="/robotiq_gripper_controller",
    driver="/robotiq_gripper_driver",
    joint="robotiq_140_finger_joint",
    stroke=dim.STROKE,
    open_position=0.0,
    closed_position=dim.CLOSED_POSITION,
    speed=dim.GRIPPER_SPEED,
    force=50.0,
    most_force=80.0,
    finger_joints=("left_finger_joint", "right_finger_joint"),
    opens=False,
    pad_half=0.025,
    depth=0.055,
)
