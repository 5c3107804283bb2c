"""Which files belong to which robot of a deployment."""

import re
from pathlib import Path

import pytest

from quartet_agent_runtime import AgentSettings
from quartet_site import RobotFiles, SiteFileError, load_robots

SITES = Path(__file__).parents[3] / "deploy" / "sites"
STUDIO = {"robot_file": SITES / "studio" / "robot.yaml", "site_file": SITES / "studio" / "site.yaml"}
SERVERS = {"nav2": "http://127.0.0.1:1/mcp"}


def test_a_robot_has_its_own_files_and_the_others_those_for_all():
    home = RobotFiles(robot_file=SITES / "home" / "robot.yaml", site_file=SITES / "home" / "site.yaml")
    known = load_robots(["summit", "second"], {"summit": home}, **STUDIO)
    assert known["summit"].site.name != known["second"].site.name
    assert known["second"].robot.name == "summit"


def test_robots_of_one_place_share_what_is_known_of_it():
    known = load_robots(["a", "b"], {}, **STUDIO)
    assert known["a"].site is known["b"].site


def test_the_policy_that_is_named_comes_before_the_one_beside_the_site_file(tmp_path):
    (tmp_path / "policy.yaml").write_text("programs: ask\napproval_wait_s: 7\n")
    own = RobotFiles(**STUDIO, policy_file=tmp_path / "policy.yaml")
    known = load_robots(["summit", "second"], {"summit": own}, **STUDIO)
    assert (known["summit"].programs, known["summit"].approval_wait_s) == ("ask", 7)
    assert known["second"].programs != "ask"


@pytest.mark.parametrize("field", ["policy_file", "resume_file"])
def test_named_file_that_does_not_exist_is_refused(tmp_path, field):
    wrong = tmp_path / "no.file"
    said = f"QUARTET_ROBOTS: the {field} of 'summit' is {wrong}, which is no file; correct the path, or leave {field}"
    with pytest.raises(SiteFileError, match=re.escape(said)):
        load_robots(["summit"], {"summit": RobotFiles(**STUDIO, **{field: wrong})}, None, None)


def test_a_robot_without_files_is_named():
    with pytest.raises(SiteFileError, match="no files are known for robot 'bob'; QUARTET_ROBOTS has ada"):
        load_robots(["bob"], {"ada": RobotFiles(**STUDIO)}, None, None)


def test_the_file_of_another_robot_is_refused():
    with pytest.raises(SiteFileError, match="'ada' has the robot file of 'summit'"):
        load_robots(["ada"], {"ada": RobotFiles(**STUDIO)}, None, None)


def test_settings_need_files_for_every_robot():
    with pytest.raises(ValueError, match=r"QUARTET_ROBOT_FILE and QUARTET_SITE_FILE is not set.*no files for bob"):
        AgentSettings(servers={"ada": SERVERS, "bob": SERVERS}, robots={"ada": RobotFiles(**STUDIO)})


def test_no_robot_may_be_called_any():
    with pytest.raises(ValueError, match="no robot may be called 'any'"):
        AgentSettings(servers={"any": SERVERS}, **STUDIO)
