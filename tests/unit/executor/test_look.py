"""What the arm's surroundings are told to be, over played cameras."""

from pathlib import Path
from typing import Any

from quartet_contracts import ArmScene, SceneObject, new_object_id
from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import CurrentPoseResult, GraspState, GripperResult
from quartet_contracts.tools.perception import Detection, DetectResult, GraspPoseResult
from quartet_executor.look import look
from quartet_site import load_robot, load_site

TABLETOP = Path(__file__).parents[3] / "deploy" / "sites" / "tabletop"
AT = (0.5, 0.1, 0.77)


class Robot:
    """A request whose open fingers are around what `seen` shows."""

    robot, site = load_robot(TABLETOP / "robot.yaml"), load_site(TABLETOP / "site.yaml")

    def __init__(self, *seen: Detection) -> None:
        self._seen = list(seen)

    async def call(self, kind: Any, tool: str, **_: Any) -> Any:
        if kind is CurrentPoseResult:
            x, y, z = AT
            flange = (x, y, z + self.robot.gripper.finger_offset_m)
            return CurrentPoseResult(pose=Pose3D(frame_id="base", position=flange, orientation=(1.0, 0.0, 0.0, 0.0)))
        if kind is GripperResult:
            return GripperResult(state=GraspState.EMPTY)
        if kind is DetectResult:
            return DetectResult(detections=self._seen)
        assert kind is GraspPoseResult, tool
        return GraspPoseResult(ok=False, error_code="NO_OBJECTS_FOUND")


def between_fingers(at: tuple[float, float, float]) -> Detection:
    return detection("tomato", at).model_copy(update={"camera": "arm", "in_gripper": True})


def detection(label: str, at: tuple[float, float, float]) -> Detection:
    return Detection(
        object_id=new_object_id(),
        label=label,
        score=0.9,
        box_xyxy=(0.0, 0.0, 9.0, 9.0),
        camera="front",
        position_base=at,
        size_m=(0.066, 0.066, 0.066),
    )


def scene(*at: tuple[float, float, float]) -> ArmScene:
    names = ("tomato", "tomato 2")
    objects = tuple(
        SceneObject(name=name, position=one, size_m=(0.066, 0.066, 0.066), object_id=new_object_id())
        for name, one in zip(names, at, strict=False)
    )
    return ArmScene(objects=objects, hand_position=(0.5, 0.1, 1.0), hand_yaw=0.0)


async def test_what_comes_between_the_fingers_keeps_its_name_though_it_has_another_id() -> None:
    """A program grasps it by its name next."""
    other, wanted = (0.5, -0.3, 0.77), (0.51, 0.1, 0.77)
    before = scene(other, wanted)
    now = await look(Robot(between_fingers(AT)), before)  # pyright: ignore[reportArgumentType]
    # By its own id it is known again when it stands.
    assert {(one.name, one.position, one.object_id) for one in now.objects} == {
        (one.name, one.position, one.object_id) for one in before.objects
    }


async def test_what_is_between_the_fingers_and_was_known_nowhere_near_is_another_thing() -> None:
    now = await look(Robot(between_fingers(AT)), scene((0.5, -0.3, 0.77)))  # pyright: ignore[reportArgumentType]
    assert {one.name for one in now.objects} == {"tomato", "tomato 2"}


async def test_what_the_fingers_hide_a_part_of_is_no_new_thing_in_the_place_of_another() -> None:
    """The mast's camera took what it saw of a can between open fingers for a cup."""
    x, y, z = AT
    before = scene(AT)
    now = await look(Robot(detection("rubbish", (x, y + 0.03, z))), before)  # pyright: ignore[reportArgumentType]
    assert now.objects == before.objects


async def test_a_new_thing_beside_a_known_one_is_told() -> None:
    x, y, z = AT
    for at in ((x, y + 0.07, z), (x, y, z + 0.07)):
        now = await look(Robot(detection("rubbish", at)), scene(AT))  # pyright: ignore[reportArgumentType]
        assert [one.name for one in now.objects] == ["rubbish", "tomato"], at


async def test_where_no_fingers_are_a_thing_may_have_taken_the_place_of_another() -> None:
    before = scene((0.5, -0.3, 0.77))
    now = await look(Robot(detection("rubbish", (0.5, -0.3, 0.77))), before)  # pyright: ignore[reportArgumentType]
    assert {one.name for one in now.objects} == {"rubbish", "tomato"}
