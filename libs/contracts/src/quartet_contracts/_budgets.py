"""Limits of an agent loop, and its usage."""

from typing import Annotated

from pydantic import Field

from quartet_contracts.messages import Arguments


class Usage(Arguments):
    """Usage of one agent loop."""

    turns: Annotated[int, Field(ge=0)] = 0
    tool_calls: Annotated[int, Field(ge=0)] = 0
    prompt_tokens: Annotated[int, Field(ge=0)] = 0
    completion_tokens: Annotated[int, Field(ge=0)] = 0
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    wall_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum of both, field by field."""
        return Usage(
            turns=self.turns + other.turns,
            tool_calls=self.tool_calls + other.tool_calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            wall_s=self.wall_s + other.wall_s,
        )


class Budget(Arguments):
    """Limits of one agent loop; None means no limit of that kind."""

    turns: Annotated[int, Field(ge=1)] = 60
    tool_calls: Annotated[int, Field(ge=0)] = 50
    tokens: Annotated[int, Field(ge=1)] | None = 500_000
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    wall_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 600.0

    def spent(self, used: Usage) -> str | None:
        """Return which limit forbids another turn of the model, in words, or None."""
        tokens = used.prompt_tokens + used.completion_tokens
        if used.turns >= self.turns:
            return f"{used.turns} of {self.turns} model turns"
        if self.tokens is not None and tokens >= self.tokens:
            return f"{tokens} of {self.tokens} tokens"
        if self.cost_usd is not None and used.cost_usd >= self.cost_usd > 0:
            return f"{used.cost_usd:.4f} of {self.cost_usd:.4f} USD"
        return None
