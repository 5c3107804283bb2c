"""Asks an agent's model: budget, retries, fallbacks, and what the answer cost."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from opentelemetry.trace import SpanKind

from quartet_gateway import _litellm
from quartet_gateway.config import AGENTS, AgentModels, GatewayFile, Retries
from quartet_gateway.errors import (
    BadRequest,
    ContextTooLong,
    GatewayError,
    ModelBusy,
    ModelFailed,
    ModelRefused,
    ModelTimeout,
    NotConfigured,
)
from quartet_gateway.ledger import Ledger, Spent
from quartet_gateway.metrics import Metrics
from quartet_gateway.models import Model
from quartet_gateway.requests import ChatRequest
from quartet_process import redact, remember_environment, tracing

logger = logging.getLogger("quartet_gateway")


@dataclass
class _Deployment:
    """A model in an agent's chain; `group` is its name in the Router."""

    group: str
    model: Model
    rests_until: float = 0.0


class Gateway:
    """Serves chat requests for the agents with the models that `chosen` gives them."""

    def __init__(
        self,
        file: GatewayFile,
        chosen: Mapping[str, list[Model]],
        *,
        ledger: Ledger | None = None,
        environment: Mapping[str, str] | None = None,
        renewed: Callable[[], Mapping[str, list[Model]] | None] = lambda: None,
    ) -> None:
        """`renewed` is asked before each request: the same models with other keys, None while the keys are the same."""
        self._litellm = _litellm.load()
        self._file = file
        self._chains = {
            agent: [_Deployment(f"{agent}/{i}", model) for i, model in enumerate(models)]
            for agent, models in chosen.items()
        }
        self.ledger = ledger or Ledger()
        self.metrics = Metrics()
        self._renewed = renewed
        remember_environment(environment or {})
        self._router = self._make_router(file.retries)

    def problems(self) -> dict[str, str]:
        """By agent, what must be set before it has a model; agents that have one are not in it."""
        return {a: chain[0].model.missing for a, chain in self._chains.items() if all(d.model.missing for d in chain)}

    def model_names(self) -> dict[str, list[str]]:
        """By agent, its model and its fallbacks."""
        return {agent: [d.model.name for d in chain] for agent, chain in self._chains.items()}

    def limits(self, agent: str) -> AgentModels:
        """The agent's part of the file."""
        limits: AgentModels = getattr(self._file.agents, agent)
        return limits

    async def answer(self, request: ChatRequest, *, task: str = "") -> dict[str, Any]:
        """The OpenAI completion with a `quartet` field. Raises GatewayError."""
        agent = request.model
        if agent not in self._chains:
            raise BadRequest(f"'model' is the agent that asks, got '{agent}'; valid: {', '.join(AGENTS)}")
        began = time.monotonic()
        outcome = "error"
        try:
            self._renew()
            self.ledger.check(agent, self.limits(agent))
            deployment, response = await self._ask(agent, request)
            outcome = "ok"
            return self._completion(agent, deployment, response, task)
        except GatewayError as error:
            outcome = error.code
            raise
        finally:
            self.metrics.requests.labels(agent, outcome).inc()
            self.metrics.seconds.labels(agent).observe(time.monotonic() - began)

    def measure(self) -> None:
        """Bring the metrics that are looked at, not counted, up to date."""
        for agent in self._chains:
            limits = self.limits(agent)
            spent = self.ledger.of_agent(agent, limits)
            budgets = ((spent.cost_usd, limits.budget_usd), (float(spent.tokens), limits.budget_tokens))
            used = [amount / budget if budget else 1.0 for amount, budget in budgets if budget is not None]
            if used:
                self.metrics.budget_used.labels(agent).set(max(used))

    async def close(self) -> None:
        """Closes the connections to the providers."""
        self._router.discard()
        await self._litellm.close_litellm_async_clients()

    def _renew(self) -> None:
        """Use the providers' newest keys; what is under way ends with the old ones."""
        chosen = self._renewed()
        if chosen is None:
            return
        for agent, models in chosen.items():
            for deployment, model in zip(self._chains[agent], models, strict=True):
                deployment.model, deployment.rests_until = model, 0.0
        self._router.discard()
        self._router = self._make_router(self._file.retries)
        logger.info("the models are asked with other keys of their providers from now on")

    async def _ask(self, agent: str, request: ChatRequest) -> tuple[_Deployment, Any]:
        """The first answer along the agent's chain; models that failed just now are tried last."""
        chain = [d for d in self._chains[agent] if not d.model.missing]
        if not chain:
            missing = self._chains[agent][0].model.missing
            raise NotConfigured(f"agent '{agent}' has no model: {missing}")
        now = time.monotonic()
        chain.sort(key=lambda d: d.rests_until > now)
        error: GatewayError | None = None
        try:
            async with asyncio.timeout(self._file.retries.total_s):
                for deployment in chain:
                    try:
                        response = await self._traced_try(deployment, request)
                    except GatewayError as failed:
                        # A request that one model does not take as it is may still suit the next.
                        error = error or failed
                        deployment.rests_until = time.monotonic() + self._file.retries.rest_s
                        logger.warning("%s: %s failed: %s", agent, deployment.model.name, failed)
                        continue
                    deployment.rests_until = 0.0
                    if deployment is not self._chains[agent][0]:
                        self.metrics.fallbacks.labels(agent, deployment.model.name).inc()
                    return deployment, response
        except TimeoutError:
            names = ", ".join(d.model.name for d in chain)
            raise ModelTimeout(
                f"no answer from {names} within {self._file.retries.total_s:g} s (retries.total_s)"
            ) from error
        assert error is not None
        raise error

    async def _traced_try(self, deployment: _Deployment, request: ChatRequest) -> Any:
        model = deployment.model
        about = {
            tracing.OPERATION: "chat",
            tracing.PROVIDER: model.provider,
            tracing.REQUEST_MODEL: model.name.partition("/")[2] or model.name,
        }
        with tracing.span(f"chat {model.name}", kind=SpanKind.CLIENT, attributes=about) as one:
            began = time.monotonic()
            response = await self._try(deployment, request)
            self.metrics.tries.labels(model.name).observe(time.monotonic() - began)
            spent = self._spent(response)
            one.set_attributes(
                {
                    tracing.RESPONSE_MODEL: str(getattr(response, "model", None) or model.name),
                    tracing.INPUT_TOKENS: spent.prompt_tokens,
                    tracing.OUTPUT_TOKENS: spent.completion_tokens,
                    tracing.CACHED_TOKENS: spent.cached_tokens,
                    tracing.COST: spent.cost_usd,
                }
            )
            return response

    async def _try(self, deployment: _Deployment, request: ChatRequest) -> Any:
        """One model, with the Router's retries. Raises GatewayError.

        The Router does not retry an answer of status 200 that cannot be read; that is done here.
        """
        again = self._file.retries.attempts - 1
        attempt = 0
        while True:
            try:
                response = await self._router.acompletion(
                    model=deployment.group, messages=request.messages, **request.passed_on()
                )
            except Exception as error:
                failure = self._wire_error(deployment.model, error)
                if getattr(error, "status_code", None) != 200:
                    raise failure from error
            else:
                if response.choices:
                    return response
                failure = ModelFailed(f"{deployment.model.name} answered without a choice")
            if attempt >= again:
                raise failure
            await asyncio.sleep(self._litellm.utils.calculate_retry_after(again - attempt, again))
            attempt += 1

    def _completion(self, agent: str, deployment: _Deployment, response: Any, task: str) -> dict[str, Any]:
        body: dict[str, Any] = response.model_dump(exclude_none=True)
        spent = self._spent(response)
        limits = self.limits(agent)
        self.ledger.add(agent, limits, task, spent)
        name = deployment.model.name
        for kind, count in (
            ("prompt", spent.prompt_tokens),
            ("completion", spent.completion_tokens),
            ("cached", spent.cached_tokens),
        ):
            self.metrics.tokens.labels(agent, name, kind).inc(count)
        self.metrics.cost.labels(agent, name).inc(spent.cost_usd)
        body["model"] = agent
        body["quartet"] = {
            "model": name,
            "cost_usd": round(spent.cost_usd, 8),
            # A fallback may answer next time: images go out only when every model of the chain reads them.
            "takes_images": all(d.model.takes_images for d in self._chains[agent]),
        }
        return body

    def _spent(self, response: Any) -> Spent:
        usage = getattr(response, "usage", None)
        details = getattr(usage, "prompt_tokens_details", None)
        return Spent(
            requests=1,
            prompt_tokens=int(getattr(usage, "prompt_tokens", 0) or 0),
            completion_tokens=int(getattr(usage, "completion_tokens", 0) or 0),
            cached_tokens=int(getattr(details, "cached_tokens", 0) or 0),
            cost_usd=float((getattr(response, "_hidden_params", None) or {}).get("response_cost") or 0.0),
        )

    def _wire_error(self, model: Model, error: Exception) -> GatewayError:
        """Exceptions of LiteLLM become errors of the wire in this function and nowhere else."""
        kinds = self._litellm
        where = model.parameters.get("api_base") or model.provider
        said = redact(str(getattr(error, "message", None) or error)).split("\n")[0][:500]
        self.metrics.failures.labels(model.name, type(error).__name__).inc()
        text = redact(f"{model.name} at {where}: {said}")
        if getattr(error, "status_code", None) in {401, 403}:
            return ModelRefused(f"{text} (the provider does not accept the key; check it in .env)")
        if isinstance(error, kinds.RateLimitError):
            return ModelBusy(f"{text} (after {self._file.retries.attempts} tries)")
        if isinstance(error, kinds.Timeout):
            return ModelTimeout(f"{text} (after {self._file.retries.timeout_attempts} tries)")
        if isinstance(error, kinds.ContextWindowExceededError):
            return ContextTooLong(text)
        if isinstance(error, kinds.NotFoundError):
            return ModelRefused(f"{text} (does the provider have this model?)")
        if isinstance(error, kinds.BadRequestError | kinds.UnprocessableEntityError):
            return ModelRefused(text)
        if _cannot_connect(error):
            return ModelFailed(f"{text} (is the server running? QUARTET_MODEL_API_BASE says where it is)")
        return ModelFailed(text)

    def _make_router(self, retries: Retries) -> Any:
        from litellm.types.router import RetryPolicy

        again, late = retries.attempts - 1, retries.timeout_attempts - 1
        return self._litellm.Router(
            model_list=[
                {"model_name": d.group, "litellm_params": dict(d.model.parameters)}
                for chain in self._chains.values()
                for d in chain
                if not d.model.missing
            ],
            timeout=retries.timeout_s,
            num_retries=again,
            retry_policy=RetryPolicy(
                TimeoutErrorRetries=late,
                RateLimitErrorRetries=again,
                InternalServerErrorRetries=again,
                ServiceUnavailableErrorRetries=again,
                BadRequestErrorRetries=0,
                AuthenticationErrorRetries=0,
                ContentPolicyViolationErrorRetries=0,
            ),
            disable_cooldowns=True,
        )


def _cannot_connect(error: BaseException | None) -> bool:
    """Whether nobody answered at the address, by what the error was made from."""
    while error is not None:
        if isinstance(error, httpx.ConnectError | ConnectionError):
            return True
        error = error.__cause__ or error.__context__
    return False
