"""No agent may use a generic ROS write."""

import pytest

from quartet_contracts import Skill
from quartet_contracts._skill_tools import granted_tools

WRITES = ("publish", "call_service", "parameter", "action_goal")


@pytest.mark.parametrize("skill", list(Skill))
def test_no_grant_of_a_skill_has_a_generic_write(skill):
    granted = granted_tools(skill)
    assert granted
    assert not [tool for tool in granted if tool.startswith("ros__") and any(word in tool for word in WRITES)]
