"""Which policy a server serves under: the one that is named, the one beside the site file, or the defaults."""

import shutil
from pathlib import Path

import pytest

from quartet_site import PolicyFile, SiteFileError, load_robot, load_site
from quartet_tool_server.run import site_policy
from quartet_tool_server.settings import ServerSettings

STUDIO = Path(__file__).parents[3] / "deploy" / "sites" / "studio"


@pytest.fixture
def policy(tmp_path, monkeypatch):
    """`policy()`: of a folder with copies of the studio's files."""
    for name in ("robot.yaml", "site.yaml"):
        shutil.copy(STUDIO / name, tmp_path / name)

    def read(**settings):
        made = ServerSettings(robot_file=tmp_path / "robot.yaml", site_file=tmp_path / "site.yaml", **settings)
        return site_policy(made.files()[""], load_site(made.site_file), load_robot(made.robot_file))

    return read


def test_without_a_file_the_defaults_hold(policy):
    assert policy() == PolicyFile()


def test_the_file_beside_the_site_file_is_read(policy, tmp_path):
    (tmp_path / "policy.yaml").write_text("payload_kg: 1.5\n")
    assert policy().payload_kg == 1.5


def test_the_one_that_is_named_comes_first(policy, tmp_path):
    (tmp_path / "policy.yaml").write_text("payload_kg: 1.5\n")
    (tmp_path / "other.yaml").write_text("payload_kg: 2.5\n")
    assert policy(policy_file=tmp_path / "other.yaml").payload_kg == 2.5


@pytest.mark.parametrize(("text", "words"), [("payload: 1\n", "policy.yaml:1: payload"), ("a: [", "not YAML")])
def test_one_that_cannot_be_used_is_no_default(policy, tmp_path, text, words):
    (tmp_path / "policy.yaml").write_text(text)
    with pytest.raises(SiteFileError, match=words):
        policy()


def test_one_that_is_named_must_be_there(policy, tmp_path):
    with pytest.raises(SiteFileError, match=r"other\.yaml cannot be read"):
        policy(policy_file=tmp_path / "other.yaml")


def test_it_must_fit_the_site(policy, tmp_path):
    (tmp_path / "policy.yaml").write_text("geofence: {areas: [kitchen]}\n")
    with pytest.raises(SiteFileError, match=r"'kitchen' is no area of site\.yaml; valid: studio"):
        policy()


@pytest.mark.parametrize("name", ["policy.yml", "Policy.yaml", "polciy.yaml", "policies.yaml", "policy.yaml.txt"])
def test_a_misspelt_name_is_no_default(policy, tmp_path, name):
    (tmp_path / name).write_text("payload_kg: 1.5\n")
    with pytest.raises(SiteFileError, match=rf"{name} is not read.*rename it"):
        policy()
