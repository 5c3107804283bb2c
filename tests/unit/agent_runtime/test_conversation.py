"""What a model is shown of results and images, while journal and checks have all of them."""

import base64

import pytest

from quartet_agent_runtime._conversation import Conversation
from quartet_agent_runtime._model import ModelAnswer, ToolCall
from quartet_agent_runtime._tools import CallResult, Image, ToolOutcome, failure

DETECT, MOVE = "perception__detect_objects", "moveit__plan_and_execute"
SEEN = {
    "ok": True,
    "error_code": "NONE",
    "message": "",
    "detections": [{"object_id": "obj_1", "box_xyxy": [1, 2, 3, 4], "in_gripper": False, "position_base": None}],
    "others": [],
    "width_m": 0.0,
}


def read(tool, outcome):
    """What the model reads of a call."""
    talk = Conversation("system", "user")
    talk.add_result(ToolCall("1", tool, {}), outcome)
    return talk.messages()[-1]["content"]


def test_of_a_success_it_reads_what_says_something():
    assert read(DETECT, ToolOutcome(SEEN)) == (
        '{"ok":true,"detections":[{"object_id":"obj_1","in_gripper":false}],"others":[],"width_m":0.0}'
    )


def test_of_a_success_it_reads_numbers_to_the_millimetre_and_milliradian():
    pose = {"position": [0.78855, 1e-05, -0.12], "orientation": [0.65081, 0.75924, 0.0, 0.0], "frame_id": "map"}
    told = read("perception__get_topdown_grasp_pose", ToolOutcome({"ok": True, "grasp_pose": pose, "distance_m": 2}))
    assert told == (
        '{"ok":true,"grasp_pose":{"position":[0.789,0.0,-0.12],"orientation":[0.651,0.759,0.0,0.0],"frame_id":"map"},'
        '"distance_m":2}'
    )


def test_of_a_skill_it_reads_the_code_also_when_it_is_none():
    assert read("pick", ToolOutcome({"ok": True, "error_code": "NONE"})) == '{"error_code":"NONE"}'


def test_of_a_failure_it_reads_everything():
    told = read(MOVE, failure("BUSY", "", moveit_error_code=99, pose=None))
    assert told == '{"ok":false,"error_code":"BUSY","message":"","moveit_error_code":99,"pose":null}'


def test_of_a_tool_that_is_not_known_here_it_reads_everything():
    told = read("lamp__switch", ToolOutcome({"ok": True, "visible": 1, "duration_s": 2, "pose": None}))
    assert told == '{"ok":true,"visible":1,"duration_s":2,"pose":null}'


def test_the_transcript_has_what_the_model_was_sent():
    talk = Conversation("system", "user")
    talk.add_result(ToolCall("1", DETECT, {}), ToolOutcome(SEEN))
    assert talk.transcript() == talk.messages()
    assert "box_xyxy" not in str(talk.transcript())


def test_a_model_is_shown_the_images_of_the_last_turn_that_had_any():
    talk = Conversation("system", "user")

    def turn(*pictures):
        calls = [ToolCall(name, "look", {}) for name in pictures or ["none"]]
        talk.add_answer(ModelAnswer(calls=calls, takes_images=True))
        for call in calls:
            outcome = ToolOutcome({"ok": True}, [Image(call.id.encode())] if pictures else [])
            talk.add_result(call, outcome)
            talk.keep_images(call, CallResult(outcome, [call.id] if pictures else []))
        talk.end_turn()
        contents = [message["content"] for message in talk.messages() if isinstance(message["content"], list)]
        return [base64.b64decode(one[1]["image_url"]["url"].rpartition(",")[2]).decode() for one in contents]

    assert turn("front", "arm") == ["front", "arm"]
    assert turn() == ["front", "arm"]
    assert turn("later") == ["later"]


@pytest.mark.parametrize("moved", [False, True])
def test_equal_image_of_an_earlier_turn_is_not_shown_again(moved):
    """Equal images have one reference, and a camera that stands still may return the same image twice."""
    talk = Conversation("system", "user")
    for number in ("1", "2"):
        call, outcome = ToolCall(number, "look", {}), ToolOutcome({"ok": True}, [Image(b"jpeg")])
        talk.add_answer(ModelAnswer(calls=[call], takes_images=True))
        if moved:
            talk.forget_images()
        talk.add_result(call, outcome)
        talk.keep_images(call, CallResult(outcome, ["the digest"]))
        talk.end_turn()
    shown = [index for index, message in enumerate(talk.messages()) if isinstance(message["content"], list)]
    assert shown == [len(talk.messages()) - 1]
