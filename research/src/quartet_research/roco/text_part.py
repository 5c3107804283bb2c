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
        "Questions: the number of a question is its seed. The published ones are not available; ours are made from the "
        "states of the tasks. Success is the right answer; one that cannot be read is wrong.",
        "random: each name or not, any letter, NO or YES with any action. constant: always the most frequent right "
        "answer of the category, the best that an answer without reading can get.",
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
        answer = (await discussion.turn(question.robot, prompt)).answer
        return _marked(question, answer.text, calls=1, tokens=answer.tokens_in + answer.tokens_out)

    def baselines(self, cases: Sequence[Case]) -> Iterable[Record]:
        """Yield the trials of a random and of a constant answerer."""
        for own in grouped(cases, lambda case: case.setting["task"]).values():
            questions = [(case, _question(case)) for case in own]
            ((constant, _),) = Counter(one for _, question in questions for one in question.right).most_common(1)
            for case, question in questions:
                rng = np.random.default_rng(case.instance["seed"])
                for name, answer in ("random", guess(question.form, question.choices, rng)), ("constant", constant):
                    yield Record(name, case, _marked(question, f"ANSWER: {answer}"))


def _question(case: Case) -> Question:
    return question_of(case.setting["task"], case.instance["seed"])


def _marked(question: Question, reply: str, calls: int = 0, tokens: int = 0) -> Trial:
    answer = read_answer(reply, question.form, question.choices)
    kind = "wrong answer" if answer else "no valid answer"
    reason = f"{kind}: {answer or reply[-200:]}; right: {' or '.join(sorted(question.right))}"
    right = answer in question.right
    return Trial(right, calls=calls, tokens=tokens, reason="" if right else reason)
