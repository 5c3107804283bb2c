"""The group discussion: the leader assigns subtasks, each robot checks its own, and the leader reassigns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from quartet_teams._chat import MOST_TOKENS, Chat, RunProgram, converse
from quartet_teams._checks import Checker
from quartet_teams._discussion import Discussion, Refusal, Turn
from quartet_teams.emos._problem import Assignment, Method, Problem
from quartet_teams.emos._prompts import Prompts
from quartet_teams.emos._replies import has_verdict, is_nothing, parse_assignment, parse_verdict
from quartet_teams.errors import SilentError

LEADER = "leader"
MOST_REASSIGNMENTS = 3
"""Reassignments after refusals; the last assignment is used whatever the robots say (the published code)."""
MOST_ATTEMPTS = 3
"""Answers of the leader that may be refused for one assignment."""
NO_VERDICT = "Your reply has neither {yes} nor {no||reason}, so it counts as a refusal of your subtask."


@dataclass
class Agreement:
    """Result of a discussion."""

    assignment: Assignment
    agreed: bool = False
    """Whether each robot has accepted its subtask."""
    rounds: int = 1
    """Assignments that were made."""
    silent: Sequence[str] = ()
    """Robots that did not answer in the last round."""
    chats: dict[str, Chat] = field(default_factory=dict[str, Chat])
    """Conversation of each robot, with which it begins to act."""


class _NoChecks:
    def check(self, plan: Assignment) -> Sequence[tuple[Literal["constraints"], str]]:
        """Return no complaint."""
        return []


async def agree(
    problem: Problem,
    method: Method,
    discussion: Discussion,
    run: RunProgram,
    *,
    checker: Checker[Assignment] | None = None,
    happened: str = "",
    most_tokens: int = MOST_TOKENS,
) -> Agreement:
    """Let the group share a task out.

    A robot is not asked again about a subtask that it has accepted, unless the method is faithful.

    Args:
        problem: task, scene and robots.
        method: parts of the method.
        discussion: asks the model, and keeps all turns and refusals.
        run: runs a program of a robot.
        checker: further checks of the leader's assignments.
        happened: what the robots have done until now, if the task is planned again.
        most_tokens: tokens of each conversation in one prompt.

    Raises:
        NoPlanError: the leader gave no valid assignment.
        SilentError: the leader does not answer.
    """
    prompts = Prompts(problem, method, happened)
    chats = {robot: Chat(most_tokens) for robot in problem.robots}
    if not method.discussion:
        return Agreement(dict.fromkeys(problem.robots, problem.task), agreed=True, chats=chats)
    chat = Chat(most_tokens)
    result, accepted = Agreement({}, chats=chats, rounds=0), Assignment()
    for _ in range(1 + MOST_REASSIGNMENTS):
        result.assignment = await _assign(prompts, discussion, chat, checker or _NoChecks())
        result.rounds += 1
        if not method.reflection:
            break
        asked = {
            robot: subtask
            for robot, subtask in result.assignment.items()
            if method.faithful or accepted.get(robot) != subtask
        }
        refusals, result.silent = await _ask_robots(prompts, discussion, chats, asked, run)
        accepted = {robot: subtask for robot, subtask in result.assignment.items() if robot not in refusals}
        result.agreed = not refusals
        if result.agreed:
            break
        for robot, reason in refusals.items():
            chat.say(robot, f"I refuse my subtask: {reason}")
    return result


async def _assign(prompts: Prompts, discussion: Discussion, chat: Chat, checker: Checker[Assignment]) -> Assignment:
    """Return the leader's next assignment."""
    robots, lenient = prompts.problem.robots, prompts.method.faithful

    async def attempt(refusals: Sequence[Refusal]) -> Turn:
        if refusals:
            chat.say("rules", f"This assignment is not valid: {refusals[-1].reason} Give a corrected one.")
        turn = await discussion.turn(LEADER, prompts.leader(chat))
        chat.say(LEADER, turn.answer.text)
        return turn

    def parse(answer: str) -> Assignment:
        return parse_assignment(answer, robots, lenient=lenient)

    return await discussion.agree(attempt, parse, checker, MOST_ATTEMPTS)


async def _ask_robots(
    prompts: Prompts, discussion: Discussion, chats: Mapping[str, Chat], assignment: Assignment, run: RunProgram
) -> tuple[dict[str, str], list[str]]:
    """Return the reasons of the robots that refuse their subtasks, and the robots that do not answer."""
    refusals, silent = dict[str, str](), list[str]()
    for robot, subtask in assignment.items():
        chat = chats[robot]
        chat.say(LEADER, f"Your subtask: {subtask}")
        if is_nothing(subtask) and not prompts.method.faithful:
            continue
        programs = run if prompts.method.programs else None
        try:
            answer = await converse(discussion, robot, chat, lambda one=robot: prompts.robot(one, chats[one]), programs)
        except SilentError:
            refusals[robot] = "no reply"
            silent.append(robot)
            continue
        if (reason := parse_verdict(answer)) is not None:
            refusals[robot] = reason
            if not has_verdict(answer) and not prompts.method.faithful:
                chat.say("rules", NO_VERDICT)
    return refusals, silent
