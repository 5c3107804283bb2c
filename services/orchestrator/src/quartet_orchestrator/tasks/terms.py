"""Terms that the orchestrator's model may pass to a sub-agent: a person's words, the site's names, few of its own.

Code passes the id of a thing that a result has named.
"""

from collections.abc import Iterable

from quartet_agent_runtime import UntrustedPhrases
from quartet_contracts import SkillArguments, SkillResult
from quartet_contracts.skills import ApproachResult
from quartet_orchestrator.recovery import History

MAX_OWN_WORDS = 4
"""Words of one term that neither person nor site has said: "soda" may become "coke can"; no instruction fits."""
TERMS = ("object_name", "target_area", "target_location")
ADVICE = "name it in the person's words or as Facts do; code adds the object_id that a result has given"


class TermPolicy:
    """Checks the terms of one task.

    Attributes:
        untrusted: What results have said; no term may quote it.
    """

    def __init__(self, own: Iterable[str]) -> None:
        """`own` are the sentence and the names of the site."""
        self.untrusted = UntrustedPhrases(own)

    def trust(self, text: str) -> None:
        """Allow the words of a person's text."""
        self.untrusted.trust(text)

    def hear(self, result: SkillResult) -> None:
        """Take note of the texts of a sub-agent's result, which must not be quoted."""
        notes = [check.note for check in result.checks] if isinstance(result, ApproachResult) else []
        for text in (result.reason, result.observed, *notes):
            self.untrusted.add(text)

    def restore(self, history: History, task_id: str) -> None:
        """Take note of everything said so far, from the journal: by the model, by persons, by sub-agents."""
        for answer in history.answers:
            self.trust(answer)
        for attempt in history.attempts:
            self.refusal(attempt.arguments)
            if attempt.finished is not None:
                self.hear(attempt.result(task_id))

    def refusal(self, arguments: SkillArguments) -> str | None:
        """Return why these arguments must not go to a sub-agent, None when they may.

        A term that was passed may come back in a result and be passed again. Its words still count as the model's
        own, so that no term grows piece by piece.
        """
        terms = {name: str(getattr(arguments, name)) for name in TERMS if hasattr(arguments, name)}
        for name, term in terms.items():
            if quoted := self.untrusted.first_quotation(term):
                return f"{name}: '{quoted}' are words that only the text of a result has; {ADVICE}"
            unsaid = self.untrusted.unknown_words(term)
            if len(unsaid) > MAX_OWN_WORDS:
                return (
                    f"{name}: {', '.join(unsaid)} are {len(unsaid)} words that neither the person nor Facts have, "
                    f"at most {MAX_OWN_WORDS} are allowed; {ADVICE}"
                )
        for term in terms.values():
            self.untrusted.allow_term(term)
        return None
