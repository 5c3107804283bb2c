"""The section ros_writes of a site file: nothing by default, and no way around it."""

from pathlib import Path

import pytest
import yaml

from quartet_site import RosWrites, SiteFileError, load_site

STUDIO = Path(__file__).parents[3] / "deploy" / "sites" / "studio" / "site.yaml"
TWIST = "geometry_msgs/msg/Twist"


@pytest.fixture
def load(tmp_path):
    def write(section):
        data = yaml.safe_load(STUDIO.read_text()) | {"ros_writes": section}
        path = tmp_path / "site.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False))
        return load_site(path).ros_writes

    return write


@pytest.mark.parametrize("site", sorted(STUDIO.parents[1].glob("*/site.yaml")), ids=lambda path: path.parent.name)
def test_the_shipped_sites_allow_nothing(site):
    assert load_site(site).ros_writes == RosWrites()


def test_a_list(load):
    cap = {"max_linear_m_s": 0.2, "max_angular_rad_s": 0.4}
    writes = load(
        {
            "topics": [{"name": "/cmd_vel", "type": TWIST, **cap}, {"name": "/say", "type": "std_msgs/String"}],
            "services": [{"name": "/lamp/on", "type": "std_srvs/srv/Trigger"}],
            "actions": [{"name": "/spin", "type": "nav2_msgs/action/Spin"}],
            "parameters": ["/controller_server:FollowPath.max_vel_x"],
        }
    )
    assert writes.topics[0].max_linear_m_s == 0.2
    assert writes.actions[0].max_duration_s == 60.0


@pytest.mark.parametrize(
    ("section", "field", "words"),
    [
        ({"topic": []}, "ros_writes.topic", "topics"),
        ({"topics": [{"name": "cmd_vel", "type": TWIST}]}, "ros_writes.topics.0.name", "cmd_vel"),
        ({"topics": [{"name": "/*", "type": TWIST}]}, "ros_writes.topics.0.name", "/*"),
        ({"topics": [{"name": "/cmd_vel", "type": TWIST}]}, "max_linear_m_s", "is missing"),
        ({"topics": [{"name": "/cmd_vel", "type": TWIST, "max_linear_m_s": 1.0}]}, "max_angular_rad_s", "is missing"),
        ({"topics": [{"name": "/cmd_vel", "type": TWIST, "max_linear_m_s": -1}]}, "max_linear_m_s", "greater than 0"),
        (
            {"topics": [{"name": "/a", "type": "std_msgs/String", "max_linear_m_s": 1.0}]},
            "max_linear_m_s",
            "leave it out",
        ),
        ({"topics": [{"name": "/a", "type": "a/B"}, {"name": "/a", "type": "a/B"}]}, "topics.1.name", "twice"),
        ({"services": [{"name": "/a", "type": "std_srvs/action/B"}]}, "ros_writes.services.0.type", "std_srvs"),
        (
            {"services": [{"name": "/rosapi/set_param", "type": "a/B"}]},
            "ros_writes.services.0.name",
            "tools of its own",
        ),
        ({"services": [{"name": "/a/set_parameters", "type": "a/B"}]}, "ros_writes.services.0.name", "parameters"),
        ({"services": [{"name": "/spin/_action/send_goal", "type": "a/B"}]}, "ros_writes.services.0.name", "actions"),
        ({"actions": [{"name": "/spin"}]}, "ros_writes.actions.0.type", "it is missing"),
        ({"parameters": ["/move_group"]}, "ros_writes.parameters.0", "/move_group"),
        ({"parameters": ["/a:b", "/a:b"]}, "ros_writes.parameters.1", "twice"),
    ],
)
def test_what_is_wrong_is_said_at_start(load, section, field, words):
    with pytest.raises(SiteFileError) as problem:
        load(section)
    assert field in str(problem.value)
    assert words in str(problem.value)
