"""RoCoBench-Text (RoCo, Table 4): a model answers questions about single decisions."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from quartet_research.harness.study import Case, Record
from quartet_research.harness.tables import grouped
from quartet_research.roco.part import WORDINGS, Part, Trial
from quartet_research.roco.published import PUBLISHED_TEXT
from quartet_research.roco.text.answerer import Answerer
from quartet_research.roco.text.question import Question, guess, read_answer
from quartet_research.roco.text.questions import COUNTS, question_of
from quartet_teams import Discussion, Model


class TextPart(Part):
    """The five categories of questions."""

    name = "text"
    tasks = tuple(COUNTS)
    varies = ("wording",)
    published: ClassVar[Mapping[tuple[str, str], str]] = PUBLISHED_TEXT
    notes: ClassVar[Sequence[str]] = (
        "RoCoBench-Text: the seed is the number of a question. The published questions are not available; these are "
        "made from states of sort and sandwich. An answer that cannot be read is wrong.",
        "random: any of the valid answers, or each name or not. constant: always the most frequent right answer.",
    )

    def trials(self, task: str) -> int:
        """Return the questions of a category in the paper."""
        return COUNTS[task]

    def speakers(self, rate: float, case: Case) -> Model:
        """Return an answerer that knows only the text of the question."""
        return Answerer(rate, seed=case.instance["seed"])

    async def play(self, case: Case, model: Model) -> Trial:
        """Ask a question."""
        question = await asyncio.to_thread(_question, case)
        discussion = Discussion(model)
        prompt = question.texts[WORDINGS.index(case.setting["wording"])]
        reply = (await discussion.turn(question.robot, prompt)).answer
        answer = read_answer(reply.text, question.choices, question.many)
        return _marked(question, answer, calls=1, tokens=reply.tokens_in + reply.tokens_out)

    def baselines(self, cases: Sequence[Case]) -> Iterable[Record]:
        """Yield the trials of a random and of a constant answerer."""
        for own in grouped(cases, lambda case: case.setting["task"]).values():
            questions = [(case, _question(case)) for case in own]
            ((constant, _),) = Counter(question.right for _, question in questions).most_common(1)
            for case, question in questions:
                rng = np.random.default_rng(case.instance["seed"])
                for name, answer in ("random", guess(question.choices, question.many, rng)), ("constant", constant):
                    yield Record(name, case, _marked(question, answer))


def _question(case: Case) -> Question:
    return question_of(case.setting["task"], case.instance["seed"])


def _marked(question: Question, answer: str, calls: int = 0, tokens: int = 0) -> Trial:
    reason = "" if answer == question.right else f"{'wrong' if answer else 'no valid'} answer: {answer}"
    return Trial(not reason, calls=calls, tokens=tokens, reason=reason)
