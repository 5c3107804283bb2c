"""A stack at a robot of one's own: no simulation, the robot's bridge and guard."""

import json
import shutil
from pathlib import Path

import pytest

from quartet_deployment import OptionError, SecretsFolder, StackOptions
from quartet_deployment._specs import choose_addresses, specs
from quartet_site import SiteFileError

TEMPLATE = Path(__file__).resolve().parents[3] / "deploy" / "sites" / "template"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    folder = tmp_path / "lab"
    shutil.copytree(TEMPLATE, folder)
    file = folder / "robot.yaml"
    file.write_text(file.read_text().replace("ws://127.0.0.1:9090", "ws://10.1.2.3:9191"))
    return folder


def environments(options: StackOptions) -> dict[str, dict[str, str]]:
    found = specs(options, choose_addresses(options), SecretsFolder(options.state_dir / "secrets"))
    return {spec.name: dict(spec.env) for spec in found}


def test_no_simulation_and_everybody_turns_to_the_robot(lab: Path, tmp_path: Path) -> None:
    (lab / "guard_token").write_text("secret")
    plain = StackOptions(state_dir=tmp_path / "state", use_dotenv=False)
    options = plain.on_robot(lab, None, None)
    env = environments(options)
    assert "simulation" not in env
    assert "simulation" in environments(plain)
    for server in ("nav2", "moveit", "perception", "ros"):
        assert env[server]["QUARTET_BRIDGE_URL"] == "ws://10.1.2.3:9191"
        assert env[server]["QUARTET_ROBOT_FILE"] == str(lab / "robot.yaml")
        # The longer limits are for a simulation that is not in real time.
        assert "QUARTET_HEARTBEAT_TIMEOUT_S" not in env[server]
    assert json.loads(env["stop"]["QUARTET_GUARDS"]) == {"my_robot": "http://10.1.2.3:9091"}
    assert env["stop"]["QUARTET_GUARD_TOKEN_FILE"] == str(lab / "guard_token")


def test_guard_and_token_can_be_named_and_a_guard_may_ask_for_none(lab: Path, tmp_path: Path) -> None:
    plain = StackOptions(state_dir=tmp_path / "state", use_dotenv=False)
    env = environments(plain.on_robot(lab, "http://10.1.2.4:7000", None))
    assert json.loads(env["stop"]["QUARTET_GUARDS"]) == {"my_robot": "http://10.1.2.4:7000"}
    assert "QUARTET_GUARD_TOKEN_FILE" not in env["stop"]
    with pytest.raises(OptionError, match="it holds the token that the guard was started with"):
        plain.on_robot(lab, None, lab / "nothing")


def test_a_folder_without_a_robot_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(SiteFileError, match=r"robot\.yaml cannot be read"):
        StackOptions(state_dir=tmp_path / "state").on_robot(tmp_path, None, None)
