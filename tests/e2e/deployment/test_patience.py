"""A slow model under `quartet up`: QUARTET_PATIENCE of the user reaches the agents and the gateway."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quartet_contracts import ApproachArguments, NextAction, Skill, State, TaskStatus
from quartet_deployment import Stack

SETTINGS = {
    "QUARTET_MODEL": "scripted",
    "QUARTET_PATIENCE": "5",
    "QUARTET_MODEL_TIMEOUT_S": "3",
    "QUARTET_MISBEHAVE": '{"slow": 1}',
    "QUARTET_MISBEHAVE_SLOW_S": "4",
}
TABLE = ApproachArguments(object_name="wooden table", target_area="studio", next_action=NextAction.SURFACE_PLACE)
GATEWAY_FILE = "retries: {attempts: 1, timeout_attempts: 1, timeout_s: 2, total_s: 2.5}"


@pytest.mark.long
def test_a_slow_model_does_the_work_with_patience_alone(
    make_own_stack: Callable[..., Stack],
    wait_for_robot: Callable[[Stack], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(GATEWAY_FILE)
    for name, value in {**SETTINGS, "QUARTET_GATEWAY_FILE": str(file)}.items():
        monkeypatch.setenv(name, value)
    stack = make_own_stack(world="studio", use_dotenv=True)
    wait_for_robot(stack)

    def drive() -> TaskStatus:
        with stack.api() as api:
            task_id = api.run_skill(Skill.APPROACH, TABLE).task.task_id
            for _ in api.events(task_id):
                pass
            return api.task(task_id)

    done = drive()
    assert done.state is State.SUCCEEDED, done.report
    assert done.task.timeout_s == 5 * 1800
    for name, reason in (("approach", "QUARTET_MODEL_TIMEOUT_S"), ("gateway", "retries.timeout_s")):
        stack.restart(name, QUARTET_PATIENCE="1")
        failed = drive()
        assert failed.state is State.FAILED
        assert failed.report is not None
        assert f"QUARTET_PATIENCE, or {reason}" in failed.report.summary
        stack.restart(name, QUARTET_PATIENCE="5")
