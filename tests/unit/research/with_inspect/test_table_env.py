"""The tasks at the table as parallel environments of PettingZoo."""

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test

from quartet_benchmarks.errors import OptionError
from quartet_research.roco.parallel_env import TableEnv
from quartet_simulation.table_tasks import TASKS


@pytest.mark.parametrize("task", TASKS)
def test_pettingzoo_finds_no_fault(task: str) -> None:
    parallel_api_test(TableEnv(task, steps=3), num_cycles=6)


def test_an_action_changes_the_table_and_a_refused_one_only_counts() -> None:
    env = TableEnv("sandwich", seed=1, steps=3, render_mode="rgb_array")
    seen, _ = env.reset(seed=1)
    assert all(seen[robot] in env.observation_space(robot) for robot in env.agents)
    refused, _, _, _, infos = env.step({"Chad": "PICK\nmoon", "Dave": "WAIT"})
    assert (refused, env.task.steps) == (seen, 1)
    assert "has no valid object" in infos["Chad"]["feedback"]
    told, rewards, _, late, infos = env.step({"Chad": "WAIT", "Dave": "PICK bread_slice1"})
    assert infos["Dave"]["feedback"] == ""
    assert "Dave holds bread_slice1." in told["Dave"]
    assert (rewards, late) == ({"Chad": -1.0, "Dave": -1.0}, {"Chad": False, "Dave": False})
    assert np.asarray(env.render()).shape[2] == 3
    assert all(env.step({"Chad": "WAIT", "Dave": "WAIT"})[3].values())
    assert env.agents == []


def test_success_ends_the_episode_before_the_limit_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    env = TableEnv("sandwich", seed=1, steps=1)
    env.reset(seed=1)
    monkeypatch.setattr(type(env.task), "done", property(lambda task: task.steps > 0))
    _, _, over, late, _ = env.step({"Chad": "WAIT", "Dave": "WAIT"})
    assert (over, late) == ({"Chad": True, "Dave": True}, {"Chad": False, "Dave": False})
    assert env.agents == []


def test_a_task_that_there_is_not_is_refused() -> None:
    with pytest.raises(OptionError, match="valid: cabinet, sandwich"):
        TableEnv("juggle")
