"""Each world as a parallel environment of PettingZoo."""

from typing import Any

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from quartet_research.planners.grid_worlds import WORLDS, SizeError, good_step, make, parallel_env


@pytest.mark.parametrize("world", WORLDS)
def test_pettingzoo_finds_no_fault(world: str) -> None:
    parallel_api_test(parallel_env(world, robots=4), num_cycles=60)
    parallel_seed_test(lambda: parallel_env(world, robots=4), num_cycles=20)


@pytest.mark.parametrize("world", WORLDS)
def test_its_numbers_do_what_the_names_do(world: str) -> None:
    env, instance = parallel_env(world, robots=8), make(world, 8, seed=3)
    observations, _ = env.reset(seed=3)
    rewards: list[float] = []
    over: dict[str, bool] = {}
    while env.agents:
        for robot in env.agents:
            names = env.action_names[robot]
            masked = {
                name for name, possible in zip(names, observations[robot]["action_mask"], strict=True) if possible
            }
            assert masked == set(instance.actions(robot))
            assert observations[robot] in env.observation_space(robot)
        plan = good_step(instance, variant=0)
        instance.step(plan)
        numbers = {robot: env.action_names[robot].index(action) for robot, action in plan.items()}
        observations, told, over, _, infos = env.step(numbers)
        assert env.render() == instance.describe()
        assert not any("refused" in info for info in infos.values())
        rewards.append(next(iter(told.values())))
    assert instance.done
    assert all(over.values())
    assert rewards == [-1.0] * instance.steps


def test_what_is_not_possible_is_waiting() -> None:
    env: Any = parallel_env("boxnet1", robots=4)
    observations, _ = env.reset(seed=0)
    before = env.render()
    robot = next(robot for robot in env.agents if not all(observations[robot]["action_mask"]))
    number = list(observations[robot]["action_mask"]).index(0)
    _, _, _, _, infos = env.step({robot: number})
    assert infos[robot]["refused"] == env.action_names[robot][number]
    assert env.render() == before


def test_it_renders_a_picture() -> None:
    drawn = parallel_env("boxnet1", robots=4, render_mode="rgb_array").render()
    assert drawn.ndim == 3
    assert drawn.shape[2] == 3
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 5


def test_a_size_that_there_is_not_is_refused() -> None:
    with pytest.raises(SizeError):
        parallel_env("boxnet1", robots=7)
