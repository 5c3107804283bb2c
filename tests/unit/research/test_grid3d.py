"""The 3D grid of RoCo: its rules, solvable instances, and a team that plans in it."""

from collections import deque
from itertools import product

import numpy as np
import pytest

from quartet_research.harness.errors import SizeError, StateError
from quartet_research.roco import grid3d
from quartet_research.roco.grid3d import AGENTS, PUBLISHED_SIZES, Grid3D
from quartet_research.roco.grid3d_solver import solve
from quartet_teams import NoPlanError, make_team
from quartet_teams.roco import Action, Mode, Past, parse_reply, plan_text
from support.toy_table import discussion

GRID = Grid3D(3, frozenset({(1, 1, 1)}), {"Alice": (0, 0, 0), "Bob": (0, 2, 0)}, {"Alice": (0, 1, 0), "Bob": (2, 2, 0)})
GOOD = {"Alice": [(0, 0, 0), (0, 1, 0)], "Bob": [(0, 2, 0), (1, 2, 0), (2, 2, 0)]}


def plan_of(paths):
    return {agent: Action(agent, "MOVE", path=tuple(path)) for agent, path in paths.items()}


def with_path(grid=GRID, **paths):
    return grid.check(plan_of({**GOOD, **paths}))


def test_paths_that_keep_the_rules_have_no_complaint():
    assert GRID.check(plan_of(GOOD)) == []


@pytest.mark.parametrize(
    ("paths", "stage", "reason"),
    [
        ({"Alice": [(0, 0, 1), (0, 1, 1), (0, 1, 0)]}, "constraints",
         "Alice starts at (0, 0, 0), but its path begins at (0, 0, 1)."),
        ({"Alice": [(0, 0, 0)]}, "constraints", "The goal of Alice is (0, 1, 0), but its path ends at (0, 0, 0)."),
        ({"Alice": [(0, 0, 0), (0, 0, -1), (0, 0, 0), (0, 1, 0)]}, "constraints",
         "Alice, step 1: (0, 0, -1) is no cell of the grid, 0 to 2."),
        ({"Bob": [(0, 2, 0), (0, 3, 0), (0, 2, 0), (1, 2, 0), (2, 2, 0)]}, "constraints",
         "Bob, step 1: (0, 3, 0) is no cell of the grid, 0 to 2."),
        ({"Bob": [(0, 2, 0), (0.5, 2, 0), (1, 2, 0), (2, 2, 0)]}, "constraints",
         "Bob, step 1: (0.5, 2, 0) is no cell of the grid, 0 to 2."),
        ({"Bob": [(0, 2, 0), (2, 2, 0)]}, "constraints",
         "Bob, step 1: from (0, 2, 0) to (2, 2, 0) is no step to a neighbour."),
        ({"Bob": [(0, 2, 0), (0, 2, 0), (1, 2, 0), (2, 2, 0)]}, "constraints",
         "Bob, step 1: from (0, 2, 0) to (0, 2, 0) is no step to a neighbour."),
        ({"Bob": [(0, 2, 0), (1, 1, 0), (2, 1, 0), (2, 2, 0)]}, "constraints",
         "Bob, step 1: from (0, 2, 0) to (1, 1, 0) is no step to a neighbour."),
        ({"Bob": [(0, 2, 0), (0, 2, 1), (0, 1, 1), (1, 1, 1), (1, 2, 1), (2, 2, 1), (2, 2, 0)]}, "collision",
         "Bob, step 3: (1, 1, 1) is an obstacle."),
        ({"Bob": [(0, 2, 0), (0, 1, 0), (1, 1, 0), (2, 1, 0), (2, 2, 0)]}, "collision",
         "Alice and Bob, step 1: both are at (0, 1, 0)."),
        ({"Alice": [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)],
          "Bob": [(0, 2, 0), (0, 1, 0), (1, 1, 0), (1, 2, 0), (2, 2, 0)]}, "collision",
         "Alice and Bob, step 2: both are at (1, 1, 0)."),
        ({"Alice": [(0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 1, 0)],
          "Bob": [(0, 2, 0), (1, 2, 0), (0, 2, 0), (1, 2, 0), (2, 2, 0)]}, "collision",
         "Alice and Bob, step 2: both are at (0, 2, 0)."),
    ],
)  # fmt: skip
def test_a_broken_rule_is_told_with_the_offending_step(paths, stage, reason):
    assert (stage, reason) in with_path(**paths)
    assert {found for found, _ in with_path(**paths)} == {stage}, "collisions only where the other rules are kept"


def test_agents_cannot_exchange_cells_and_one_that_has_arrived_is_in_the_way():
    grid = Grid3D(3, frozenset(), {"Alice": (0, 0, 0), "Bob": (0, 1, 0)}, {"Alice": (0, 1, 0), "Bob": (0, 0, 0)})
    swap = {"Alice": [(0, 0, 0), (0, 1, 0)], "Bob": [(0, 1, 0), (0, 0, 0)]}
    assert grid.check(plan_of(swap)) == [("collision", "Alice and Bob, step 1: they exchange (0, 0, 0) and (0, 1, 0).")]
    late = {"Bob": [(0, 2, 0), (0, 2, 1), (0, 2, 2), (0, 1, 2), (0, 1, 1), (0, 1, 0), (1, 1, 0), (1, 2, 0), (2, 2, 0)]}
    assert with_path(**late) == [("collision", "Alice and Bob, step 5: both are at (0, 1, 0).")]


def test_a_plan_full_of_faults_has_short_feedback():
    wrong = with_path(Alice=[(0, 0, 0), *[(9, 9, 9)] * 900, (0, 1, 0)])
    assert len(wrong) == 21
    assert wrong[-1] == ("constraints", "There are 1781 more faults.")


@pytest.mark.parametrize("size", PUBLISHED_SIZES)
def test_every_instance_has_a_solution_that_the_checker_accepts(size):
    texts = []
    for seed in range(30):
        grid = Grid3D.generate(size, seed)
        assert grid.robots == AGENTS
        assert len(grid.obstacles) == {5: 15, 10: 120}[size]
        assert grid.check(plan_of(grid.solution())) == []
        assert Grid3D.generate(size, seed) == grid
        assert Grid3D.parse(grid.describe()) == grid
        texts.append(grid.describe())
    assert len(set(texts)) == 30


def joint_search(size, obstacles, starts, goals):
    """Return whether any plan exists: breadth first over the cells of all agents and who has stopped for good."""
    agents = list(starts)
    first = tuple((starts[agent], False) for agent in agents)
    seen, queue = {first}, deque([first])
    while queue:
        now = queue.popleft()
        if all(cell == goals[agent] for agent, (cell, _) in zip(agents, now, strict=True)):
            return True
        choices = []
        for agent, (cell, stopped) in zip(agents, now, strict=True):
            moves = [(cell, True)] if stopped or cell == goals[agent] else []
            if not stopped:
                for axis, by in product(range(3), (1, -1)):
                    to = tuple(value + by * (axis == index) for index, value in enumerate(cell))
                    if 0 <= to[axis] < size and to not in obstacles:
                        moves.append((to, False))
            choices.append(moves)
        for after in product(*choices):
            cells = [cell for cell, _ in after]
            swapped = any(
                after[a][0] == now[b][0] and after[b][0] == now[a][0] for a in range(len(now)) for b in range(a)
            )
            if len(set(cells)) == len(cells) and not swapped and after not in seen:
                seen.add(after)
                queue.append(after)
    return False


def test_the_solver_finds_only_what_exists_and_misses_little():
    """In narrow grids, against a search of all joint plans, with a checker of its own."""
    rng = np.random.default_rng(0)
    cells = list(product(range(3), repeat=3))
    solved = missed = 0
    for _ in range(60):
        drawn = [cells[index] for index in rng.permutation(27)]
        obstacles, ends = frozenset(drawn[:16]), drawn[16:20]
        starts, goals = dict(zip("ab", ends[:2], strict=True)), dict(zip("ab", ends[2:], strict=True))
        found = solve(3, obstacles, starts, goals)
        exists = joint_search(3, obstacles, starts, goals)
        if found is not None:
            assert exists
            assert Grid3D(3, obstacles, starts, goals).check(plan_of(found)) == []
        solved += found is not None
        missed += exists and found is None
    assert solved > 10
    assert missed <= 2


def test_what_cannot_be_made_or_read_is_an_error(monkeypatch):
    for size in (2, 21):
        with pytest.raises(SizeError, match=f"size {size}: from 3 to 20"):
            Grid3D.generate(size, 0)
    monkeypatch.setattr(grid3d, "MOST_DRAWS", 1)
    monkeypatch.setattr(grid3d, "OBSTACLE_SHARE", 21 / 27)
    with pytest.raises(SizeError, match="no instance with a solution in 1 grids of size 3 with 21 obstacles"):
        Grid3D.generate(3, 0)
    with pytest.raises(StateError, match="no lines"):
        Grid3D.parse("nothing of this kind")


@pytest.mark.parametrize("mode", Mode)
async def test_a_team_finds_paths_with_the_feedback_of_five_attempts(mode):
    grid = Grid3D.generate(5, 1)
    solution = plan_of(grid.solution())
    straight = plan_of({agent: [grid.starts[agent], grid.goals[agent]] for agent in grid.robots})

    def talk(who, prompt, call):
        feedback = prompt.partition("# Feedback\n")[2]
        done = feedback.count("This plan was refused (constraints)") >= 12
        return f"EXECUTE\n{plan_text(solution if done else straight)}"

    talked = discussion(talk)
    decision = await make_team("roco", mode=mode).decide(grid, Past(), talked)
    assert decision.attempts == 5
    assert decision.plan == parse_reply(f"EXECUTE\n{plan_text(solution)}", grid)
    assert "is no step to a neighbour" in talked.turns[-1].prompt
    seen = talked.turns[-1].prompt
    assert all(f"{agent} starts at" in seen for agent in AGENTS) is (mode is not Mode.DIALOGUE)
    with pytest.raises(NoPlanError):
        await make_team("roco", mode=mode, feedback=False).decide(grid, Past(), discussion(talk))
