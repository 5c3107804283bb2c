"""A wrong policy file is refused with file, line, field and the valid values."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartet_site import PolicyFile, SiteFileError, distance_to_edge, inside, load_policy, load_robot, load_site
from quartet_site.policy import Geofence, Rates, Workspace

SITES = Path(__file__).parents[3] / "deploy" / "sites"
HOME = SITES / "home"
GOOD = """\
agents: {pick: [moveit__*]}
geofence:
  areas: [kitchen]
  forbidden:
    - name: stairs
      outline: [[0, 0], [1, 0], [1, 1]]
speed: {base_m_s: 0.5, arm_scale: 0.9}
workspace: {minimum: [0, -1, 0], maximum: [1, 1, 1]}
approval:
  - tool: nav2__navigate_to_pose
    when: {x: {min: 1, max: 2}}
    then: ask
"""


@pytest.fixture
def load(tmp_path):
    def from_text(text):
        path = tmp_path / "policy.yaml"
        path.write_text(text)
        return load_policy(path, load_site(HOME / "site.yaml"), load_robot(HOME / "robot.yaml"))

    return from_text


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in SITES.glob("*/policy.yaml")))
def test_the_files_of_the_repository_are_valid(folder):
    path = SITES / folder
    policy = load_policy(path / "policy.yaml", load_site(path / "site.yaml"), load_robot(path / "robot.yaml"))
    assert isinstance(policy, PolicyFile)


def test_a_good_file_and_its_defaults(load):
    policy = load(GOOD)
    assert policy.geofence.areas == ["kitchen"]
    assert policy.phases.no_release == ["approach", "pick"]
    assert policy.rates == Rates()


def test_what_holds_without_a_file():
    """Written down in docs/policy.md; whoever changes this changes that."""
    policy = PolicyFile()
    assert policy.agents == {}
    assert policy.geofence == Geofence(areas="all", zones=[], forbidden=[], margin_m=0.0, docks={}, undock_m=1.0)
    assert policy.geofence.bounded
    assert (policy.workspace, policy.payload_kg, policy.approval) == (None, None, [])
    assert (policy.speed.base_m_s, policy.speed.base_rad_s, policy.speed.arm_scale) == (None, None, None)
    assert (policy.phases.arm_or_base, policy.phases.no_release) == (True, ["approach", "pick"])
    assert (policy.rates.per_tool, policy.rates.tools, policy.approval_wait_s) == (600, {}, 300.0)
    assert (policy.unchecked.actions, policy.unchecked.topics) == ([], [])


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        (
            "[moveit__*]",
            "[moveit*]",
            1,
            ["agents.pick.0: valid: SERVER__TOOL, such as nav2__navigate_to_pose or moveit__*; the file has 'moveit*'"],
        ),
        ("agents:", "agent:", 1, ["agent: there is no such field; valid fields here: agents, approval,"]),
        ("areas: [kitchen]", "areas: [kitchen, attic]", 3, ["'attic' is no area", "living room", "geofence.areas.1"]),
        ("areas: [kitchen]", "areas: []", 3, ["the base may go nowhere", "'all'"]),
        (
            "[[0, 0], [1, 0], [1, 1]]",
            "[[0, 0], [1, 0]]",
            6,
            ["outline: too few entries: 2; valid: at least 3; the file has [[0, 0], [1, 0]]"],
        ),
        ("[[0, 0], [1, 0], [1, 1]]", "[[0, 0], [1, 0], [2, 0]]", 6, ["area of 0.000 m2"]),
        ("[[0, 0], [1, 0], [1, 1]]", "[[0, 0], [1, .nan], [1, 1]]", 6, ["outline.1.1", "finite"]),
        ("base_m_s: 0.5", "base_m_s: 0.3", 7, ["approach.speed_m_s 0.4, faster than this cap 0.3"]),
        ("arm_scale: 0.9", "arm_scale: 0.5", 7, ["arm.speed_scale 0.8, above this cap 0.5"]),
        ("arm_scale: 0.9", "arm_scale: 1.5", 7, ["speed.arm_scale: it must be at most 1; the file has 1.5"]),
        ("maximum: [1, 1, 1]", "maximum: [1, 1, 0]", 8, ["minimum z 0 is not below maximum z 0"]),
        ("{min: 1, max: 2}", "{min: 3, max: 2}", 11, ["min 3 is above max 2"]),
        ("{min: 1, max: 2}", "{}", 11, ["give min, max or one_of"]),
        ("{min: 1, max: 2}", "{min: 1, one_of: [2]}", 11, ["one_of does not go with min and max"]),
        ("then: ask", "then: perhaps", 12, ["'auto', 'ask' or 'deny'"]),
        ("nav2__navigate_to_pose", "navigate_to_pose", 10, ["approval.0.tool", "the file has 'navigate_to_pose'"]),
    ],
)
def test_each_fault_is_named(load, old, new, line, words):
    with pytest.raises(SiteFileError) as caught:
        load(GOOD.replace(old, new))
    message = str(caught.value)
    assert f"policy.yaml:{line}: " in message, message
    for word in words:
        assert word in message, message


def test_the_template_has_every_field():
    import yaml

    data = yaml.safe_load((SITES / "template" / "policy.yaml").read_text())
    assert set(PolicyFile.model_fields) - set(data) == {"agents"}, "agents is there as a comment"
    assert set(Geofence.model_fields) == set(data["geofence"])


square = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]
numbers = st.floats(-5, 5, allow_nan=False)


@given(numbers, numbers)
def test_a_square_holds_what_is_between_its_sides(x, y):
    if min(abs(x), abs(x - 2), abs(y), abs(y - 2)) > 1e-9:
        assert inside(square, x, y) == (0 < x < 2 and 0 < y < 2)
        outer = max(0 - x, x - 2, 0.0), max(0 - y, y - 2, 0.0)
        away = (outer[0] ** 2 + outer[1] ** 2) ** 0.5 or min(x, 2 - x, y, 2 - y)
        assert distance_to_edge(square, x, y) == pytest.approx(away)


def test_a_workspace_is_a_box():
    with pytest.raises(ValueError, match="minimum x"):
        Workspace(minimum=(1, 0, 0), maximum=(0, 1, 1))
