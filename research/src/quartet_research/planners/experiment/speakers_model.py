"""The reference speakers as a model of Inspect: `reference-speakers/0.1`, where 0.1 is their fault rate.

They are rules, no language model, which is why their name says so in every log and table.
"""

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

from quartet_benchmarks.prices import SPEAKERS
from quartet_research.planners.speakers import Faults, Speakers


@modelapi(name=SPEAKERS)
class ReferenceSpeakers(ModelAPI):
    """Answers by rules. Each trial has speakers of its own, whose faults are drawn by the seed of the instance."""

    def __init__(
        self, model_name: str, base_url: str | None = None, api_key: str | None = None, **rest: object
    ) -> None:
        config = rest.get("config")
        super().__init__(
            model_name, base_url, api_key, [], config if isinstance(config, GenerateConfig) else GenerateConfig()
        )
        self._faults = Faults.equal(float(model_name.rpartition("/")[2]))
        self._trials: dict[str, Speakers] = {}

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Return the answer to the only message, whose metadata names trial, seed and participant."""
        asked = input[-1]
        about = asked.metadata or {}
        if about["trial"] not in self._trials:
            self._trials[about["trial"]] = Speakers(self._faults, seed=about["seed"])
        speakers = self._trials[about["trial"]]
        answer = await speakers(about["participant"], asked.text)
        output = ModelOutput.from_content(f"{SPEAKERS}/{self.model_name}", answer.text)
        output.usage = ModelUsage(
            input_tokens=answer.tokens_in,
            output_tokens=answer.tokens_out,
            total_tokens=answer.tokens_in + answer.tokens_out,
        )
        return output

    def max_connections(self) -> int:
        """Return how many answer at once: rules gain nothing by waiting for each other."""
        return 4
