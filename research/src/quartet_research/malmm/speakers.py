"""The reference speakers as a model of an experiment."""

from quartet_scripted_model.programs import ArmSpeakers, Rates
from quartet_teams import Answer


class ReferenceModel:
    """Answers the prompts of all participants by rules.

    Args:
        rates: rates of the faults.
        seed: of the faults that are drawn.
    """

    def __init__(self, rates: Rates, seed: int) -> None:
        self._speakers = ArmSpeakers(rates, seed)

    async def __call__(self, participant: str, prompt: str) -> Answer:
        """Return the answer of a participant, with a quarter of the characters as its tokens."""
        try:
            text = self._speakers.say(participant, prompt)
        except ValueError as error:
            # The cameras may not show what the task names.
            text = f"I have no plan: {error}"
        return Answer(text, tokens_in=len(prompt) // 4, tokens_out=len(text) // 4)
