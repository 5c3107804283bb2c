"""QUARTET_PATIENCE scales the times in which a model or a person has to answer, and no other limit."""

import pytest
from pydantic import BaseModel

from quartet_agent_runtime import AgentSettings
from quartet_gateway import GatewayFile
from quartet_gateway.config import Retries
from quartet_gateway.settings import Settings as GatewaySettings
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_perception.settings import PerceptionSettings
from quartet_process import PatientSettings, SettingsError, load_settings
from quartet_scripted_model.settings import Settings as ScriptedModelSettings
from quartet_site import PolicyFile, RobotFile, SiteFile
from quartet_stop.settings import Settings as StopSettings
from quartet_tool_server.settings import ServerSettings

SCALED: dict[type[PatientSettings], set[str]] = {
    AgentSettings: {"model_timeout_s", "bridge_wait_s"},
    OrchestratorSettings: {
        "model_timeout_s", "task_timeout_s", "skill_timeout_s", "question_timeout_s", "look_timeout_s", "bridge_wait_s",
        "outcome_patience_s",
    },
    PerceptionSettings: {"segmenter_timeout_s"},
    GatewaySettings: set(),
}  # fmt: skip
NEEDED = {"QUARTET_SERVERS": "{}"}


def numbers(model: BaseModel) -> dict[str, float]:
    return {name: value for name, value in model.model_dump().items() if type(value) in {int, float}}


@pytest.fixture(autouse=True)
def needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("kind", SCALED, ids=lambda kind: kind.__name__)
def test_patience_scales_these_times_and_no_heartbeat_lease_or_stop(
    kind: type[PatientSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = numbers(load_settings(kind))
    monkeypatch.setenv("QUARTET_PATIENCE", "4")
    after = numbers(load_settings(kind))
    assert after == {
        name: 4 * value if name in SCALED[kind] or name == "patience" else value for name, value in before.items()
    }


def test_processes_that_ask_no_model_know_no_patience() -> None:
    for kind in (ServerSettings, StopSettings, ScriptedModelSettings, RobotFile, SiteFile, PolicyFile):
        assert "patience" not in kind.model_fields


def test_an_explicit_time_is_scaled_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTET_PATIENCE", "2")
    monkeypatch.setenv("QUARTET_SKILL_TIMEOUT_S", "30")
    assert load_settings(OrchestratorSettings).skill_timeout_s == 60


@pytest.mark.parametrize("patience", [1, 3.5, 20])
def test_an_agent_waits_longer_than_the_gateway(patience: float) -> None:
    retries = GatewayFile().with_patience(patience).retries
    assert retries == Retries().model_copy(update={"timeout_s": 45 * patience, "total_s": 115 * patience})
    assert retries.total_s < AgentSettings(servers={}, patience=patience).model_timeout_s


@pytest.mark.parametrize(
    ("value", "valid"), [("0.5", "greater than or equal to 1"), ("21", "less than or equal to 20"), ("much", "number")]
)
def test_a_bad_factor_is_named_with_what_is_valid(value: str, valid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTET_PATIENCE", value)
    with pytest.raises(SettingsError, match=rf"QUARTET_PATIENCE: .*{valid}.* \(got '{value}'\)"):
        load_settings(AgentSettings)
