"""What the orchestrator's model may say to a sub-agent: a person's words, names of the site, a short word of its own.

A thing that only a camera or a sub-agent has named goes by its object_id.
"""

from collections.abc import Iterable

from quartet_agent_runtime import Overheard
from quartet_contracts import SkillArguments, SkillResult
from quartet_contracts.skills import ApproachResult

MOST_UNSAID = 4
"""Words of one term that neither person nor site has said: "soda" may become "coke can", and no instruction fits in."""
TERMS = ("object_name", "target_area", "target_location")
ADVICE = "name it in the person's words or as Facts do, and pass its object_id where a result has told one"


class Wording:
    """The terms of one task. `own`: the sentence, and what the site calls things."""

    def __init__(self, own: Iterable[str]) -> None:
        self._overheard = Overheard(own)

    def trust(self, text: str) -> None:
        """A person has said this, too."""
        self._overheard.trust(text)

    def hear(self, result: SkillResult) -> None:
        """A sub-agent has said this."""
        notes = [check.note for check in result.checks] if isinstance(result, ApproachResult) else []
        for text in (result.reason, result.observed, *notes):
            self._overheard.hear(text)

    def refusal(self, arguments: SkillArguments) -> str | None:
        """Why these arguments must not go to a sub-agent, or None. A term that goes may come back in a result and go
        again; its words stay the model's own, so that none gets longer piece by piece."""
        terms = {name: str(getattr(arguments, name)) for name in TERMS if hasattr(arguments, name)}
        for name, term in terms.items():
            if quoted := self._overheard.quoted(term):
                return f"{name}: '{quoted}' are words that only a result's text has said; {ADVICE}"
            unsaid = self._overheard.unsaid(term)
            if len(unsaid) > MOST_UNSAID:
                return (
                    f"{name}: {', '.join(unsaid)} are {len(unsaid)} words that neither the person nor Facts have said, "
                    f"at most {MOST_UNSAID} are taken; {ADVICE}"
                )
        for term in terms.values():
            self._overheard.allow(term)
        return None
