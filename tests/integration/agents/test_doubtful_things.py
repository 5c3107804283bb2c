"""A search that twice sees what may be its target, and is not sure, asks a person; the person's word counts."""

import shutil
from pathlib import Path

import pytest
import yaml

from quartet_contracts import Skill
from quartet_contracts.approvals import CONFIRM_OBJECT, ApprovalDecision

NAME = "green tea box"
SITE = Path(__file__).resolve().parents[3] / "deploy" / "sites" / "studio"


class Person:
    """Answers each question in the same words; None: does not answer."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    async def ask(self, request, left_s):
        self.asked.append(request)
        assert 0 < left_s <= 60
        return ApprovalDecision(
            approval_id=request.approval_id, allowed=self.answer == "yes", answer=self.answer, token=""
        )


@pytest.fixture(scope="module")
def stage(tmp_path_factory, stage_of):
    """The studio, whose site file has the tea box a third too large."""
    files = tmp_path_factory.mktemp("site")
    shutil.copy(SITE / "robot.yaml", files)
    site = yaml.safe_load((SITE / "site.yaml").read_text())
    (box,) = (one for one in site["objects"] if one["name"] == NAME)
    box["appearance"]["size_m"] = [round(1.33 * one, 3) for one in box["appearance"]["size_m"]]
    (files / "site.yaml").write_text(yaml.safe_dump(site))
    yield from stage_of(files)


@pytest.fixture
def search(stage):
    async def run(answer):
        stage.reset()
        person = Person(answer)
        result = await stage.run(
            Skill.APPROACH,
            approvals=person,
            target_area="studio",
            object_name=NAME,
            next_action="pick",
            deadline_s=180.0,
        )
        return person, result

    return run


async def test_the_robot_stands_before_what_a_person_confirms(stage, search):
    person, result = await search("yes")
    assert result.error_code == "NONE", stage.memory.story()
    (asked,) = person.asked
    assert (asked.tool, asked.arguments["object_name"], asked.arguments["area"]) == (CONFIRM_OBJECT, NAME, "studio")
    assert asked.arguments["image"] in stage.memory.pictures
    assert abs(stage.distance(NAME) - stage.robot.approach.standoff_m.pick) < 0.2
    await stage.pick(NAME, object_id=result.object_id, deadline_s=180.0)
    results = [event.event for event in stage.memory.events if event.event.kind == "tool_result"]
    closed = [one.text for one in results if one.tool == "moveit__close_gripper"]
    assert closed, stage.memory.story()
    assert '"state":"HOLDING"' in closed[0], "the fingers close on the real object, not above it"


@pytest.mark.long
async def test_what_a_person_rejects_is_left_out(stage, search):
    person, result = await search("no")
    assert len(person.asked) == 1
    assert result.error_code == "NAV_TARGET_NOT_VISIBLE", stage.memory.story()
    assert result.reason.endswith("a person said of 1 like it that it is another thing")


@pytest.mark.long
async def test_without_an_answer_the_search_goes_on_as_without_a_person(stage, search):
    person, result = await search(None)
    assert person.asked
    assert result.error_code == "NAV_TARGET_NOT_VISIBLE", stage.memory.story()
    assert "a person said" not in result.reason
