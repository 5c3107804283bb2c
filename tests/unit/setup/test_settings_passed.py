"""Every setting of every process can be set where it is deployed, or there is a reason why not."""

import asyncio
import json
import logging
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import AliasChoices
from pydantic_settings import BaseSettings

from quartet_agent_runtime import AgentSettings
from quartet_bridge_proxy.settings import Settings as BridgeProxySettings
from quartet_cli.settings import CliSettings
from quartet_deployment import AGENTS, SERVERS
from quartet_deployment._environment import TUNABLE
from quartet_gateway.settings import Settings as GatewaySettings
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_perception.settings import PerceptionSettings
from quartet_process import run_process
from quartet_scripted_model.settings import Settings as ScriptedModelSettings
from quartet_simulation.settings import Settings as SimulationSettings
from quartet_stop.settings import Settings as StopSettings
from quartet_tool_server.settings import ServerSettings

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "deploy/kubernetes/quartet/templates"
CLASSES: dict[str, list[type[BaseSettings]]] = {
    "orchestrator": [OrchestratorSettings],
    **{agent: [AgentSettings] for agent in AGENTS},
    **{server: [ServerSettings] for server in ("nav2", "moveit", "ros")},
    "perception": [ServerSettings, PerceptionSettings],
    "gateway": [GatewaySettings],
    "scripted-model": [ScriptedModelSettings],
    "stop": [StopSettings],
    "bridge-proxy": [BridgeProxySettings],
    "simulation": [SimulationSettings],
    "cli": [CliSettings],
}

IMAGE = "the image sets it"
SECRET = "secrets come from files in QUARTET_SECRETS_DIR, each process's own"
GRACE = "fits stop_grace_period, which compose takes from nowhere else"
ONE_ROBOT = "there is one robot, whose files are mounted"
OPEN = "nothing is served without a credential in a container"
WEIGHTS = "of open_vocabulary, which another image has (docs/perception.md)"
NOT_PASSED: dict[str, str] = {
    "QUARTET_HOST": IMAGE,
    "QUARTET_STATE_DIR": IMAGE,
    "QUARTET_READY_FILE": "what compose waits for is /health",
    "QUARTET_SIMULATION_READY_FILE": "what compose waits for is the guard",
    "QUARTET_ALLOW_ANONYMOUS": OPEN,
    "QUARTET_GRACE_S": GRACE,
    "QUARTET_SHUTDOWN_S": GRACE,
    "QUARTET_ROBOTS": ONE_ROBOT,
    "QUARTET_POLICY_FILE": "policy.yaml lies beside site.yaml",
    "QUARTET_UPSTREAMS_FILE": "an overlay mounts the file and names it (docs/bring-your-own.md)",
    "QUARTET_UPSTREAM_URLS": "as QUARTET_UPSTREAMS_FILE",
    "QUARTET_REDIS_USERNAME": "each process has the user that is called after it",
    "QUARTET_OVERHEAD_URL": "the ground truth of the simulation is reached from nowhere else",
    "QUARTET_SIMULATION_ROBOTS": ONE_ROBOT,
    "QUARTET_SIMULATION_ARMS": ONE_ROBOT,
    "QUARTET_SIMULATION_NAMESPACES": ONE_ROBOT,
    "QUARTET_SIMULATION_SCORING_PORT": "the ground truth is for tests and benchmarks on one machine",
    "QUARTET_SIMULATION_SCORING_HOST": "the ground truth is for tests and benchmarks on one machine",
    "QUARTET_SIMULATION_HEARTBEAT_TIMEOUT": "follows from QUARTET_REALTIME",
    "QUARTET_SIMULATION_REALTIME_THINKING": "for the benchmark of teams",
    "QUARTET_SIMULATION_CHECK_MESSAGES": "for tests of the simulation itself",
    "QUARTET_SIMULATION_MAX_MESSAGE_SIZE": "as rosbridge has it",
    **dict.fromkeys(
        (
            "QUARTET_SEGMENTER_MODEL",
            "QUARTET_SEGMENTER_MASK_MODEL",
            "QUARTET_SEGMENTER_DEVICE",
            "QUARTET_SEGMENTER_DTYPE",
            "QUARTET_SEGMENTER_THRESHOLD",
            "QUARTET_SEGMENTER_DOWNLOAD",
            "QUARTET_SEGMENTER_ACCEPT_LICENCE",
        ),
        WEIGHTS,
    ),
}
MODEL = ("QUARTET_GATEWAY_URL", "QUARTET_GATEWAY_PATIENCE_S", "QUARTET_MODEL_TIMEOUT_S")
NOT_OF = {
    ("cli", "QUARTET_LOG_LEVEL"): "the command writes no log",
    ("cli", "QUARTET_LOG_FORMAT"): "as QUARTET_LOG_LEVEL",
    ("cli", "QUARTET_SERVERS"): "its container has no key to sign grants with",
    **dict.fromkeys((("executor", name) for name in MODEL), "it asks no model"),
}
"""Of one service alone."""


def services(path: str = "docker-compose.yml") -> dict[str, Any]:
    return yaml.safe_load(re.sub(r"!(reset|override)\b", "", (ROOT / path).read_text()))["services"]


def variables(kind: type[BaseSettings]) -> set[str]:
    """The environment variables of a class of settings."""
    prefix = kind.model_config.get("env_prefix", "")
    found: set[str] = set()
    for name, field in kind.model_fields.items():
        alias = field.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias or f"{prefix}{name}".upper()]
        found |= {str(one) for one in choices if str(one).startswith("QUARTET_")}
    return found


def of_secrets(names: set[str]) -> set[str]:
    """What a secret can be given by in place of its file in QUARTET_SECRETS_DIR."""
    bare = {name.removesuffix("_FILE") for name in names if name.endswith("_FILE")} & names
    return {name for one in bare for name in (one, f"{one}_FILE")}


def named_in_example() -> set[str]:
    text = (ROOT / ".env.example").read_text()
    named = set(re.findall(r"^#?([A-Z][A-Z0-9_]+)=", text, re.MULTILINE))
    (others,) = re.findall(r"QUARTET_MODEL_ORCHESTRATOR((?:, _[A-Z]+)+)", text)
    return named | {f"QUARTET_MODEL{agent}" for agent in others.split(", ") if agent}


@pytest.mark.parametrize("service", CLASSES)
def test_every_setting_is_passed_on_or_there_is_a_reason(service: str) -> None:
    given = set(services()[service]["environment"])
    if "env_file" in services()[service]:
        given |= named_in_example()
    wanted = {name for kind in CLASSES[service] for name in variables(kind)}
    reasons = {**NOT_PASSED, **dict.fromkeys(of_secrets(wanted), SECRET)}
    reasons |= {name: why for (of, name), why in NOT_OF.items() if of == service}
    missing = wanted - given - reasons.keys()
    assert missing == set(), f"pass it on to {service} in docker-compose.yml, or say above why not"


def resolved(text: str, given: Mapping[str, str]) -> str:
    """What compose makes of `text` where only `given` is set: ${NAME:-default}, which may hold another one."""

    def value(found: re.Match[str]) -> str:
        return given.get(found[1]) or found[2] or ""

    while (inner := re.sub(r"\$\{([A-Z0-9_]+)(?::?-([^${}]*))?\}", value, text)) != text:
        text = inner
    assert "${" not in text, "neither a default nor nothing"
    return text


def set_environment(monkeypatch: pytest.MonkeyPatch, service: str, given: Mapping[str, str]) -> None:
    """Let this process have what compose gives to `service` where only `given` is set."""
    for name in [name for name in os.environ if name.startswith("QUARTET_")]:
        monkeypatch.delenv(name)
    for name, value in services()[service]["environment"].items():
        monkeypatch.setenv(name, resolved(str(value), given))


@pytest.mark.parametrize("service", CLASSES)
def test_every_process_takes_what_compose_gives_it_where_nothing_is_set(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, service, {})
    made = [kind() for kind in CLASSES[service]]
    if service == "orchestrator":
        assert isinstance(made[0], OrchestratorSettings)
        assert (made[0].session_s, made[0].page_stop_url) == (43_200, ":8010")
    if service == "simulation":
        assert isinstance(made[0], SimulationSettings)
        assert (made[0].scenario, made[0].faults, made[0].metrics_port) == (None, frozenset(), 9093)


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("given", [{}, {"QUARTET_LOG_FORMAT": "text", "QUARTET_LOG_LEVEL": "DEBUG"}], ids=str)
@pytest.mark.parametrize("service", sorted(CLASSES.keys() - {"cli"}))
def test_a_container_logs_json_unless_text_is_chosen(
    service: str,
    given: dict[str, str],
    terminal: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also where it has a terminal (`docker compose run`): what collects the logs reads JSON."""
    set_environment(monkeypatch, service, given)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)

    async def serve(_settings: Any, _stop: asyncio.Event) -> None:
        logging.getLogger("quartet_x").info("it works")
        logging.getLogger("quartet_x").debug("a detail")

    assert run_process(service, CLASSES[service][0], serve) == 0  # type: ignore[type-var]
    lines = capsys.readouterr().err.splitlines()
    if given:
        assert [line.split(" ", 1)[1] for line in lines] == [
            *([f"{service} DEBUG Using selector: EpollSelector"] if len(lines) > 2 else []),
            f"{service} INFO it works",
            f"{service} DEBUG a detail",
        ]
    else:
        (line,) = map(json.loads, lines)
        assert line.items() >= {"level": "INFO", "process": service, "message": "it works"}.items()


def test_quartet_up_passes_on_what_compose_does() -> None:
    """Every limit of a user reaches its process in both ways of deployment."""
    given = {
        name
        for service in CLASSES.keys() - {"cli", "simulation", "bridge-proxy"}
        for name, value in services()[service]["environment"].items()
        if str(value).startswith(f"${{{name}")
    }
    of_the_stack = {
        "QUARTET_ARCHITECTURE", "QUARTET_RESULTS", "QUARTET_LOG_FORMAT", "QUARTET_BRIDGE_URL", "QUARTET_STOP_ORIGINS",
        "QUARTET_PAGE_STOP_URL", "QUARTET_HEARTBEAT_TIMEOUT_S",
    }  # fmt: skip
    passed = {name for name in given if TUNABLE.fullmatch(name) or name.startswith("QUARTET_SEGMENTER")}
    assert given - passed == of_the_stack
    known = {name for kinds in CLASSES.values() for kind in kinds for name in variables(kind)}
    assert not [name for name in known if TUNABLE.fullmatch(name) and name not in given]


def test_the_simulation_s_container_has_the_folder_in_which_its_robot_file_and_model_are() -> None:
    told = services()["simulation"]
    assert resolved(told["environment"]["QUARTET_SIMULATION_ROBOT_FILE"], {}) == ""
    mounted = {str(one).rpartition("}")[2] for one in told["volumes"]}
    assert ":/site:ro" in mounted
    assert {str(one).rpartition("}")[2] for one in services()["nav2"]["volumes"]} >= {":/site:ro"}


def test_no_reason_is_for_what_is_passed_on_or_is_no_setting() -> None:
    everything = {name for kinds in CLASSES.values() for kind in kinds for name in variables(kind)}
    assert NOT_PASSED.keys() <= everything
    passed = {name for service in CLASSES for name in services()[service]["environment"]}
    # The gateway, which may be reached from elsewhere, is told its address once more.
    assert NOT_PASSED.keys() & passed <= {"QUARTET_HOST"}
    assert {name for _, name in NOT_OF} <= everything
    assert {(of, name) for of, name in NOT_OF if name in services()[of]["environment"]} == set()


def test_the_example_names_everything_that_compose_takes_and_nothing_else() -> None:
    files = [ROOT / "docker-compose.yml", *sorted((ROOT / "deploy").glob("compose.*.yml"))]
    files.append(ROOT / "deploy/ros2/compose.yaml")
    taken = {
        name
        for file in files
        for line in file.read_text().splitlines()
        if not line.lstrip().startswith("#")
        for name in re.findall(r"\$\{([A-Z][A-Z0-9_]+)", line)
    }
    named = named_in_example()
    assert taken - named == set(), "say what it does in .env.example"
    read = taken | variables(GatewaySettings) | {"COMPOSE_FILE"}
    assert {name for name in named - read if not name.endswith("_API_KEY")} == set(), "nobody takes it"


@pytest.mark.parametrize(("define", "names"), [("quartet.agents", AGENTS), ("quartet.servers", SERVERS)])
def test_the_chart_lists_the_agents_and_servers_of_a_deployment_once(define: str, names: tuple[str, ...]) -> None:
    (listed,) = re.findall(rf'define "{define}" -}}}}\n(.*)\n', (CHART / "_helpers.tpl").read_text())
    assert tuple(yaml.safe_load(listed)) == names
    others = {file.name: file.read_text() for file in CHART.iterdir() if file.name != "_helpers.tpl"}
    again = {file for file, text in others.items() if all(name in text for name in names)}
    assert again == set()


@pytest.mark.parametrize("service", sorted(CLASSES.keys() - {"cli", "bridge-proxy"}))
def test_the_chart_lets_every_setting_of_a_process_be_set(service: str) -> None:
    where = {
        **dict.fromkeys(AGENTS, ("agents.yaml", "$agent")),
        **dict.fromkeys(SERVERS, ("servers.yaml", "$server")),
        "simulation": ("simulations.yaml", '"simulation"'),
        "scripted-model": ("gateway.yaml", '"scripted-model"'),
    }
    file, component = where.get(service, (f"{service}.yaml", f'"{service}"'))
    text = (CHART / file).read_text()
    call = rf'include "quartet.environment" \(dict "root" [$.] "component" {re.escape(component)} "own" '
    assert re.search(call, text)
    known = yaml.safe_load((CHART.parent / "values.schema.json").read_text())["properties"]["settings"]
    assert service in known["propertyNames"]["enum"]
