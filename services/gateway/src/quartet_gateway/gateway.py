"""The gateway itself: budgets, retries, fallbacks and the cost of each answer."""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx
from opentelemetry.trace import SpanKind

from quartet_gateway import litellm_settings as _litellm
from quartet_gateway import own_server
from quartet_gateway.config import AGENTS, AgentModels, GatewayFile
from quartet_gateway.errors import (
    ContextTooLongError,
    GatewayError,
    InvalidRequestError,
    ModelBusyError,
    ModelFailedError,
    ModelRefusedError,
    ModelTimeoutError,
    NotConfiguredError,
)
from quartet_gateway.ledger import Spending, SpendingLedger
from quartet_gateway.metrics import Metrics
from quartet_gateway.models import Model
from quartet_gateway.requests import ChatRequest
from quartet_gateway.usage import spending
from quartet_gateway.wire_format import is_malformed, messages_for, parameters_for, read_answer, tools_for
from quartet_process import redact, register_environment_secrets, tracing

MALFORMED_CALL = "tool_use_failed"
"""Code of Groq's status 400 for a call of the model that it could not read."""
TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|context window of this model|exceeds the available context size"
    r"|too large for model with \d+ maximum|prompt is too long|input is too long",
    re.IGNORECASE,
)
"""Providers' words for a conversation that is too long, some of which LiteLLM does not know."""
NO_CREDIT = re.compile(r"insufficient[ _](balance|quota)|more credits|credit balance is too low", re.IGNORECASE)
"""Providers' words for an account that has nothing left."""
SLOW = "for a slow model raise QUARTET_PATIENCE, or retries.{} in the gateway's file"

logger = logging.getLogger("quartet_gateway")


@dataclass
class _Deployment:
    """A model in an agent's chain."""

    model: Model
    rests_until: float = 0.0


class Gateway:
    """Serves chat requests for the agents with the models that `chosen` gives them."""

    def __init__(
        self,
        file: GatewayFile,
        chosen: Mapping[str, list[Model]],
        *,
        ledger: SpendingLedger | None = None,
        environment: Mapping[str, str] | None = None,
        renewed: Callable[[], Mapping[str, list[Model]] | None] = lambda: None,
    ) -> None:
        """`renewed` is called before each request; returns the models with other keys, None: no change."""
        self._litellm = _litellm.load()
        self._file = file
        self._chains = {agent: [_Deployment(model) for model in models] for agent, models in chosen.items()}
        self.ledger = ledger or SpendingLedger()
        self.metrics = Metrics()
        self._renewed = renewed
        register_environment_secrets(environment or {})
        _litellm.list_own_models(
            model.name for models in chosen.values() for model in models if not model.may_be_listed
        )

    def problems(self) -> dict[str, str]:
        """Return what must be set, by agent, for each agent without a usable model."""
        return {a: chain[0].model.missing for a, chain in self._chains.items() if all(d.model.missing for d in chain)}

    def model_names(self) -> dict[str, list[str]]:
        """Return the names of model and fallbacks, by agent."""
        return {agent: [d.model.name for d in chain] for agent, chain in self._chains.items()}

    def blind_models(self) -> list[str]:
        """Return the names of the models that are sent no images because nobody knows whether they read them."""
        return sorted({d.model.name for chain in self._chains.values() for d in chain if d.model.images_unknown})

    def limits(self, agent: str) -> AgentModels:
        """Return models and budget of `agent`, as the file has them."""
        limits: AgentModels = getattr(self._file.agents, agent)
        return limits

    async def answer(self, request: ChatRequest, *, task: str = "") -> dict[str, Any]:
        """Return the OpenAI completion of the agent's model, with a further field `quartet`. Raises GatewayError."""
        agent = request.model
        if agent not in self._chains:
            raise InvalidRequestError(f"'model' is the agent that asks, got '{agent}'; valid: {', '.join(AGENTS)}")
        began = time.monotonic()
        outcome = "error"
        try:
            self._renew()
            self.ledger.check(agent, self.limits(agent))
            self.ledger.check_task(task, self._file.tasks)
            deployment, response, spent = await self._ask(request, task)
            outcome = "ok"
            return self._completion(agent, deployment, response, spent)
        except GatewayError as error:
            outcome = error.code
            raise
        finally:
            self.metrics.requests.labels(agent, outcome).inc()
            self.metrics.seconds.labels(agent).observe(time.monotonic() - began)

    def measure(self) -> None:
        """Update the metrics that are sampled, not counted."""
        for agent in self._chains:
            limits = self.limits(agent)
            spent = self.ledger.of_agent(agent, limits)
            budgets = ((spent.cost_usd, limits.budget_usd), (float(spent.tokens), limits.budget_tokens))
            used = [amount / budget if budget else 1.0 for amount, budget in budgets if budget is not None]
            if used:
                self.metrics.budget_used.labels(agent).set(max(used))

    async def close(self) -> None:
        """Close the connections to the providers, and the file of what was spent."""
        self.ledger.close()
        await self._litellm.close_litellm_async_clients()

    def _renew(self) -> None:
        """Switch to the newest keys of the providers; running requests end with the old ones."""
        chosen = self._renewed()
        if chosen is None:
            return
        for agent, models in chosen.items():
            for deployment, model in zip(self._chains[agent], models, strict=True):
                deployment.model, deployment.rests_until = model, 0.0
        logger.info("the keys of the model providers have changed; new requests use the new ones")

    async def _ask(self, request: ChatRequest, task: str) -> tuple[_Deployment, Any, Spending]:
        """Return the first answer of the agent's chain; models that failed recently are tried last."""
        agent = request.model
        chain = [d for d in self._chains[agent] if not d.model.missing]
        if not chain:
            missing = self._chains[agent][0].model.missing
            raise NotConfiguredError(f"agent '{agent}' has no model: {missing}")
        now = time.monotonic()
        chain.sort(key=lambda d: d.rests_until > now)
        error: GatewayError | None = None
        try:
            async with asyncio.timeout(self._file.retries.total_s):
                for deployment in chain:
                    try:
                        response, spent = await self._traced_try(deployment, request, task)
                    except GatewayError as failed:
                        # A request that one model does not take as it is may still suit the next.
                        error = error or failed
                        deployment.rests_until = time.monotonic() + self._file.retries.rest_s
                        logger.warning("%s: %s failed: %s", agent, deployment.model.name, failed)
                        continue
                    deployment.rests_until = 0.0
                    if deployment is not self._chains[agent][0]:
                        self.metrics.fallbacks.labels(agent, deployment.model.name).inc()
                    return deployment, response, spent
        except TimeoutError:
            names = ", ".join(d.model.name for d in chain)
            raise ModelTimeoutError(
                f"no answer from {names} within {self._file.retries.total_s:g} s ({SLOW.format('total_s')})"
            ) from error
        assert error is not None
        raise error

    async def _traced_try(self, deployment: _Deployment, request: ChatRequest, task: str) -> tuple[Any, Spending]:
        model = deployment.model
        about = {
            tracing.OPERATION: "chat",
            tracing.PROVIDER: model.provider,
            tracing.REQUEST_MODEL: model.name.partition("/")[2] or model.name,
        }
        with tracing.span(f"chat {model.name}", kind=SpanKind.CLIENT, attributes=about) as one:
            began = time.monotonic()
            response, spent = await self._try(deployment, request, task)
            self.metrics.tries.labels(model.name).observe(time.monotonic() - began)
            one.set_attributes(
                {
                    tracing.RESPONSE_MODEL: str(getattr(response, "model", None) or model.name),
                    tracing.INPUT_TOKENS: spent.prompt_tokens,
                    tracing.OUTPUT_TOKENS: spent.completion_tokens,
                    tracing.CACHED_TOKENS: spent.cached_tokens,
                    tracing.COST: spent.cost_usd,
                }
            )
            return response, spent

    async def _try(self, deployment: _Deployment, request: ChatRequest, task: str) -> tuple[Any, Spending]:
        """Ask one model, again where the file's retries allow it, and count what each answer has used.

        An answer that cannot be read, or that holds nothing but a reason such as MALFORMED_FUNCTION_CALL, is asked for
        again like one that failed. Raises GatewayError.
        """
        tried = 0
        while True:
            tried += 1
            # Anew for each try: the keys may have changed, and LiteLLM changes what it is given.
            model = deployment.model
            conversation = request.conversation()
            messages = messages_for(model, conversation)
            parameters = {**model.parameters, **request.passed_on(), **parameters_for(model, conversation)}
            if tools := parameters.get("tools"):
                parameters["tools"] = tools_for(model, tools)
            headers: Any = None
            try:
                response = await self._call_model(model, messages, parameters)
            except Exception as error:
                failure: GatewayError = self._wire_error(model, error)
                if tried >= self._tries(error):
                    raise failure from error
                headers = _headers(error)
            else:
                spent = spending(model, request, response)
                self._count(request.model, model, task, spent)
                if response.choices and not (reason := is_malformed(response.choices[0])):
                    return response, spent
                fault = f"with nothing but {reason}" if response.choices else "without a choice"
                failure = ModelFailedError(f"{model.name} answered {fault}")
                if tried >= self._file.retries.attempts:
                    raise failure
            # Its back-off grows with the retries that were made, of which the first has none before it.
            await asyncio.sleep(self._litellm.utils.calculate_retry_after(0, tried - 1, headers))

    async def _call_model(self, model: Model, messages: list[dict[str, Any]], parameters: dict[str, Any]) -> Any:
        """Return LiteLLM's answer to one request. Raises its exceptions."""
        timeout_s = self._file.retries.timeout_s
        if own_server.uses_handler(model, parameters):
            return await own_server.ask(messages, timeout_s, parameters)
        with _litellm.without_logging(priced=model.may_be_listed):
            return await self._litellm.acompletion(messages=messages, timeout=timeout_s, **parameters)

    def _tries(self, error: Exception) -> int:
        """Return how many tries a model has that fails with `error`, an exception of LiteLLM."""
        kinds, retries = self._litellm, self._file.retries
        if isinstance(error, kinds.Timeout):
            return retries.timeout_attempts
        status = getattr(error, "status_code", None)
        passing = status is None or status == HTTPStatus.OK or kinds.utils.should_retry(status)
        return retries.attempts if passing or MALFORMED_CALL in str(error) else 1

    def _count(self, agent: str, model: Model, task: str, spent: Spending) -> None:
        self.ledger.add(agent, self.limits(agent), task, spent)
        for kind, count in (
            ("prompt", spent.prompt_tokens),
            ("completion", spent.completion_tokens),
            ("cached", spent.cached_tokens),
        ):
            self.metrics.tokens.labels(agent, model.name, kind).inc(count)
        self.metrics.cost.labels(agent, model.name).inc(spent.cost_usd)

    def _completion(self, agent: str, deployment: _Deployment, response: Any, spent: Spending) -> dict[str, Any]:
        body: dict[str, Any] = response.model_dump(exclude_none=True)
        read_answer(body, deployment.model)
        # What the agents count by is what the budgets of this process count by.
        counted = {"prompt_tokens": spent.prompt_tokens, "completion_tokens": spent.completion_tokens}
        body["usage"] = {**(body.get("usage") or {}), **counted, "total_tokens": spent.tokens}
        body["model"] = agent
        body["quartet"] = {
            "model": deployment.model.name,
            "cost_usd": round(spent.cost_usd, 8),
            # A fallback may answer next time: images go out only when every model of the chain reads them.
            "takes_images": all(d.model.takes_images for d in self._chains[agent]),
        }
        return body

    def _wire_error(self, model: Model, error: Exception) -> GatewayError:
        """Return the gateway's error for an exception of LiteLLM; the only place that maps them."""
        kinds = self._litellm
        where = model.parameters.get("api_base") or model.provider
        said = redact(str(getattr(error, "message", None) or error)).split("\n")[0][:500]
        self.metrics.failures.labels(model.name, type(error).__name__).inc()
        text = redact(f"{model.name} at {where}: {said}")
        if getattr(error, "status_code", None) in {401, 403}:
            return ModelRefusedError(f"{text} (the provider does not accept the key; check it in .env)")
        if NO_CREDIT.search(str(error)):
            return ModelRefusedError(f"{text} (the account at the provider has no credit left)")
        if isinstance(error, kinds.RateLimitError):
            return ModelBusyError(f"{text} (after {self._file.retries.attempts} tries)")
        if isinstance(error, kinds.Timeout):
            retries = self._file.retries
            tries = f"after {retries.timeout_attempts} tries of {retries.timeout_s:g} s"
            return ModelTimeoutError(f"{text} ({tries}; {SLOW.format('timeout_s')})")
        refused = isinstance(error, kinds.BadRequestError | kinds.UnprocessableEntityError)
        if isinstance(error, kinds.ContextWindowExceededError) or (refused and TOO_LONG.search(str(error))):
            return ContextTooLongError(text)
        if isinstance(error, kinds.NotFoundError):
            return ModelRefusedError(f"{text} (does the provider have this model?)")
        if refused:
            return ModelRefusedError(text)
        if _cannot_connect(error):
            return ModelFailedError(f"{text} (is the server running? QUARTET_MODEL_API_BASE says where it is)")
        return ModelFailedError(text)


def _headers(error: Exception) -> Any:
    """Return the headers of the answer that `error` is about, which may say when to come back; None without one."""
    given = getattr(error, "litellm_response_headers", None)
    return given if given is not None else getattr(getattr(error, "response", None), "headers", None)


def _cannot_connect(error: BaseException | None) -> bool:
    """Return whether no server listened at the address, judged by the causes of `error`."""
    seen: set[int] = set()
    # An exception may be raised from itself.
    while error is not None and id(error) not in seen:
        if isinstance(error, httpx.ConnectError | ConnectionError):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
