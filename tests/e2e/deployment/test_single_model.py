"""Architecture `single` in a whole deployment: one model does the job, and a person is asked about its grasp."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quartet_benchmarks.chaos.job import ASKED_TOOL, Job, asking_policy
from quartet_contracts import Architecture, State
from quartet_contracts.journal import Asked, ModelTurn, SkillRequested, ToolCalled, Verified
from quartet_deployment import Stack, project_root


@pytest.mark.long
def test_one_model_carries_a_thing_and_asks_before_it_grasps(
    make_own_stack: Callable[..., Stack], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(asking_policy(project_root() / "deploy" / "sites" / "studio"))
    stack = make_own_stack(
        world="studio",
        architecture=Architecture.SINGLE,
        env_of={"moveit": {"QUARTET_POLICY_FILE": str(policy)}},
    )
    job = Job.begin(stack, seed=0)
    events = list(job.follow())
    score = job.score()
    assert score.status is not None
    assert (score.status.state, score.delivered) == (State.SUCCEEDED, True), score.status.report
    assert (score.grasps, score.releases, score.disturbed) == (1, 1, [])
    assert {one.actor for one in events if isinstance(one.event, ModelTurn)} == {"orchestrator"}
    requested = [one.event for one in events if isinstance(one.event, SkillRequested)]
    assert [(one.skill, one.own) for one in requested] == [
        (skill, True) for skill in ("approach", "pick", "approach", "place")
    ]
    checked = [one.actor for one in events if isinstance(one.event, Verified)]
    assert checked == ["approach", "pick", "approach", "place"], "each claim is verified by the agent of its skill"
    (grasp,) = (one for one in events if isinstance(one.event, ToolCalled) and one.event.tool == ASKED_TOOL)
    assert grasp.actor == "orchestrator"
    assert len([one for one in events if isinstance(one.event, Asked)]) == 1, "the policy holds for this model, too"
