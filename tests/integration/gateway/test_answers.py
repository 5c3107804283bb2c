"""The gateway's answers: what goes to the provider, what comes back, what it costs, what goes wrong."""

import logging
import time
from types import SimpleNamespace

import pytest

from quartet_gateway import AGENTS, GatewayFile, SpendingLedger

# LiteLLM's own types make pydantic warn where they are first used.
pytestmark = pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")

PRICE = {"prompt": 3.0, "completion": 15.0}
COST = 1000 * 3e-6 + 100 * 15e-6


def models(provider, **fields):
    return {"main": {"model": "hosted_vllm/double", "api_base": provider.url, **fields}}


def content(provider, *, agent=None, retries=None, **fields):
    uses = {"model": "main", **(agent or {})}
    agents = dict.fromkeys(AGENTS, uses)
    patient = {"timeout_s": 60, "total_s": 120, **(retries or {})}
    return {"models": models(provider, **fields), "agents": agents, "retries": patient}


async def test_an_answer(gateway, provider):
    caller = gateway(content(provider))
    tools = [{"type": "function", "function": {"name": "pick", "parameters": {"type": "object", "properties": {}}}}]
    response = await caller.ask(tools=tools, temperature=0.5, max_tokens=50)
    assert response.status_code == 200
    body = response.json()
    call = body["choices"][0]["message"]["tool_calls"][0]["function"]
    assert call == {"name": "pick", "arguments": '{"object_name": "red can"}'}
    assert body["usage"]["total_tokens"] == 1100
    assert body["quartet"] == {"model": "hosted_vllm/double", "cost_usd": 0.0, "takes_images": False}
    sent = provider.requests[0]
    assert sent["model"] == "double"
    assert sent["tools"][0]["function"]["name"] == "pick"
    assert sent["temperature"] == 0.5
    assert sent["max_tokens"] == 50


async def test_models_and_health(gateway, provider):
    caller = gateway(content(provider))
    assert (await caller.http.get("/health")).status_code == 200
    listed = (await caller.http.get("/v1/models")).json()["data"]
    assert [m["id"] for m in listed] == ["orchestrator", "approach", "pick", "place", "perception"]
    assert listed[0]["models"] == ["hosted_vllm/double"]


async def test_it_is_ready_without_a_model_for_perception_but_for_nobody_else(gateway, provider):
    four = {agent: {"model": "main"} for agent in ("orchestrator", "approach", "pick", "place")}
    health = await gateway({"models": models(provider), "agents": four}).http.get("/health")
    assert (health.status_code, health.json()["status"]) == (200, "ok")
    assert "QUARTET_SCRIPTED_MODEL_URL" in health.json()["problems"]["perception"]
    del four["pick"]
    health = await gateway({"models": models(provider), "agents": four}).http.get("/health")
    assert (health.status_code, set(health.json()["problems"])) == (503, {"pick", "perception"})


async def test_perception_sends_pictures_with_its_own_key_and_budget(gateway, provider):
    uses = {"model": "main", "budget_tokens": 1000}
    file = {"models": models(provider, takes_images=True), "agents": {"perception": uses}}
    caller = gateway(file, keys={"key-of-perception": frozenset({"perception"})}, client=("192.0.2.7", 1))
    headers = {"Authorization": "Bearer key-of-perception"}
    picture = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/4AAQ"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "where?"}, picture]}]
    response = await caller.ask("perception", headers, messages=messages)
    assert response.status_code == 200
    assert response.json()["quartet"]["takes_images"] is True
    assert provider.requests[0]["messages"][0]["content"][1] == picture
    assert (await caller.ask("pick", headers)).status_code == 403
    spent = await caller.ask("perception", headers, messages=messages)
    assert (spent.status_code, spent.json()["error"]["code"]) == (402, "budget_spent")


async def test_images_are_taken_only_when_every_model_of_the_chain_takes_them(gateway, provider, other):
    both = {**models(provider, takes_images=True), "spare": {"model": "hosted_vllm/b", "api_base": other.url}}
    caller = gateway(
        {"models": both, "agents": {"pick": {"model": "main"}, "place": {"model": "main", "fallbacks": ["spare"]}}}
    )
    assert (await caller.ask("pick")).json()["quartet"]["takes_images"] is True
    assert (await caller.ask("place")).json()["quartet"]["takes_images"] is False


# Retries


@pytest.mark.parametrize("failure", [429, 500, 502, 503, "cut", "html"])
async def test_a_passing_failure_is_retried(gateway, provider, failure):
    provider.plan = [failure, failure]
    caller = gateway(content(provider))
    response = await caller.ask()
    assert response.status_code == 200, response.text
    assert len(provider.requests) == 3


async def test_the_wait_grows_between_tries(gateway, provider):
    provider.plan = [500, 500, 500]
    began = time.monotonic()
    response = await gateway(content(provider, retries={"attempts": 4})).ask()
    assert response.status_code == 200
    # 20, 40 and 80 ms in the tests' unit.
    assert time.monotonic() - began >= 0.06


async def test_a_provider_that_says_when_to_come_back_is_obeyed(gateway, provider):
    provider.plan, provider.retry_after = [429], "1"
    began = time.monotonic()
    assert (await gateway(content(provider)).ask()).status_code == 200
    assert time.monotonic() - began >= 1.0


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (429, 429, "rate_limit_exceeded"),
        (500, 502, "model_failed"),
        (503, 502, "model_failed"),
        ("cut", 502, "model_failed"),
        ("html", 502, "model_failed"),
    ],
)
async def test_a_lasting_failure_is_told_after_the_tries_that_the_file_gives(gateway, provider, failure, status, code):
    provider.plan = [failure] * 20
    caller = gateway(content(provider, retries={"attempts": 2}))
    response = await caller.ask()
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert provider.url in response.json()["error"]["message"]
    assert len(provider.requests) == 2
    assert await caller.metric(f'quartet_model_requests_total{{agent="pick",outcome="{code}"}}') == 1


async def test_an_answer_without_a_choice_is_a_failure(gateway, provider):
    provider.plan = ["empty"] * 9
    response = await gateway(content(provider)).ask()
    assert response.status_code == 502


async def test_a_provider_that_hangs(gateway, provider):
    provider.plan = ["hang"] * 9
    response = await gateway(content(provider, retries={"timeout_s": 1.0, "timeout_attempts": 2})).ask()
    assert response.status_code == 504
    assert response.json()["error"]["code"] == "model_timeout"
    assert len(provider.requests) == 2


async def test_time_outs_are_limited_also_after_other_failures(gateway, provider):
    provider.plan = [500, *["hang"] * 9]
    retries = {"timeout_s": 1.0, "attempts": 5, "timeout_attempts": 2}
    response = await gateway(content(provider, retries=retries)).ask()
    assert (response.status_code, response.json()["error"]["code"]) == (504, "model_timeout")
    assert len(provider.requests) == 2


async def test_failures_and_answers_that_hold_nothing_count_together(gateway, provider):
    provider.plan = [500, "html", "empty", 500]
    response = await gateway(content(provider, retries={"attempts": 3})).ask()
    assert (response.status_code, response.json()["error"]["code"]) == (502, "model_failed")
    assert len(provider.requests) == 3


async def test_a_request_ends_when_its_whole_time_is_over(gateway, provider):
    provider.plan = [500] * 99
    retries = {"timeout_s": 60, "total_s": 0.5, "attempts": 10}
    response = await gateway(content(provider, retries=retries)).ask()
    assert response.status_code == 504
    assert "total_s" in response.json()["error"]["message"]


async def test_a_forbidden_model_is_told(gateway, provider):
    provider.plan = [403] * 9
    response = await gateway(content(provider)).ask()
    assert (response.status_code, response.json()["error"]["code"]) == (424, "model_refused")


@pytest.mark.parametrize("status", [400, 401, 404, 422])
async def test_what_the_provider_refuses_is_not_retried(gateway, provider, status):
    provider.plan = [status] * 9
    response = await gateway(content(provider)).ask()
    assert response.status_code == 424
    assert len(provider.requests) == 1


async def test_a_prompt_that_is_too_long(gateway, provider):
    message = "This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens."
    error = {"error": {"message": message, "type": "invalid_request_error", "code": "context_length_exceeded"}}
    provider.plan = [(400, error)]
    response = await gateway(content(provider)).ask()
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "context_length_exceeded"


async def test_nobody_listens_there(gateway, provider):
    nobody = content(provider)
    nobody["models"]["main"]["api_base"] = "http://127.0.0.1:9/v1"
    response = await gateway(nobody).ask()
    assert response.status_code == 502
    message = response.json()["error"]["message"]
    assert "http://127.0.0.1:9/v1" in message
    assert "QUARTET_MODEL_API_BASE" in message


# Fallbacks


def with_fallback(provider, other, **retries):
    return {
        "models": {**models(provider), "spare": {"model": "hosted_vllm/spare", "api_base": other.url}},
        "agents": {"pick": {"model": "main", "fallbacks": ["spare"]}},
        "retries": {"attempts": 2, "timeout_s": 60, **retries},
    }


@pytest.mark.parametrize("failure", [429, 500, 401, 404, "cut"])
async def test_a_fallback_answers_when_the_model_fails(gateway, provider, other, failure):
    provider.plan = [failure] * 9
    caller = gateway(with_fallback(provider, other))
    body = (await caller.ask()).json()
    assert body["quartet"]["model"] == "hosted_vllm/spare"
    assert len(other.requests) == 1
    assert await caller.metric('quartet_model_fallbacks_total{agent="pick",model="hosted_vllm/spare"}') == 1


async def test_a_model_that_failed_is_passed_over_for_a_while(gateway, provider, other, monkeypatch):
    passed, real = 0.0, time.monotonic
    monkeypatch.setattr("quartet_gateway.gateway.time", SimpleNamespace(monotonic=lambda: real() + passed))
    provider.plan = [500] * 2
    caller = gateway(with_fallback(provider, other, rest_s=600))
    for _ in range(3):
        assert (await caller.ask()).json()["quartet"]["model"] == "hosted_vllm/spare"
    assert len(provider.requests) == 2, "it was not tried again while it rests"
    passed = 600.0
    assert (await caller.ask()).json()["quartet"]["model"] == "hosted_vllm/double"


async def test_when_all_fail_the_first_failure_is_told(gateway, provider, other):
    provider.plan, other.plan = [429] * 9, [500] * 9
    response = await gateway(with_fallback(provider, other)).ask()
    assert response.status_code == 429
    assert provider.url in response.json()["error"]["message"]


# Cost and budgets


async def test_cost_by_agent_and_task(gateway, provider):
    caller = gateway(content(provider, price=PRICE))
    for agent, task in (("pick", "task-1"), ("pick", "task-1"), ("place", "task-1"), ("pick", "task-2")):
        body = (await caller.ask(agent, headers={"X-Quartet-Task": task})).json()
        assert body["quartet"]["cost_usd"] == pytest.approx(COST)
    task = (await caller.http.get("/v1/usage", params={"task": "task-1"})).json()["agents"]
    assert task["pick"]["requests"] == 2
    assert task["pick"]["cost_usd"] == pytest.approx(2 * COST)
    assert task["place"]["prompt_tokens"] == 1000
    agents = (await caller.http.get("/v1/usage")).json()["agents"]
    assert agents["pick"]["completion_tokens"] == 300
    assert await caller.metric(
        'quartet_model_cost_usd_total{agent="pick",model="hosted_vllm/double"}'
    ) == pytest.approx(3 * COST)
    tokens = 'quartet_model_tokens_total{agent="pick",kind="prompt",model="hosted_vllm/double"}'
    assert await caller.metric(tokens) == 3000


async def test_a_price_of_the_file_counts_for_a_model_that_litellm_has_another_for(gateway, provider):
    caller = gateway(
        content(provider, model="openai/gpt-4o-mini", price=PRICE), env={"OPENAI_API_KEY": "sk-test-000000"}
    )
    assert (await caller.ask()).json()["quartet"]["cost_usd"] == pytest.approx(COST)


async def test_a_model_of_the_price_list_has_its_price(gateway, provider):
    caller = gateway(content(provider, model="openai/gpt-4o-mini"), env={"OPENAI_API_KEY": "sk-test-000000"})
    import litellm

    listed = litellm.model_cost["gpt-4o-mini"]
    expected = 1000 * listed["input_cost_per_token"] + 100 * listed["output_cost_per_token"]
    assert (await caller.ask()).json()["quartet"]["cost_usd"] == pytest.approx(expected)


async def test_litellm_does_not_log_price_or_count_what_the_gateway_does_not_read(gateway, provider, monkeypatch):
    from litellm.litellm_core_utils.litellm_logging import Logging

    done: list[str] = []
    monkeypatch.setattr(Logging, "claim_async_success_log", lambda *_: done.append("log"))
    monkeypatch.setattr(Logging, "_zero_cost_finding", lambda *_, **__: done.append("reason"))
    monkeypatch.setattr(Logging, "failure_handler", lambda *_, **__: done.append("failure"))
    monkeypatch.setattr("litellm.cost_calculator.completion_cost", lambda *_, **__: done.append("price"))
    caller = gateway(content(provider))
    provider.plan = [500]
    response = await caller.ask()
    assert response.json()["quartet"]["cost_usd"] == 0
    assert len(provider.requests) == 2
    assert done == []


@pytest.mark.parametrize("budget", [{"budget_usd": 2 * COST}, {"budget_tokens": 2200}])
async def test_a_task_has_a_budget_for_all_its_agents(gateway, provider, budget):
    caller = gateway({**content(provider, price=PRICE), "tasks": budget})
    task = {"X-Quartet-Task": "t1"}
    assert (await caller.ask("pick", headers=task)).status_code == 200
    assert (await caller.ask("place", headers=task)).status_code == 200
    response = await caller.ask("approach", headers=task)
    assert response.status_code == 402
    assert f"tasks.{next(iter(budget))}" in response.json()["error"]["message"]
    assert (await caller.ask("pick", headers={"X-Quartet-Task": "t2"})).status_code == 200
    assert (await caller.ask("pick")).status_code == 200


def test_a_task_has_a_budget_by_default():
    limits = GatewayFile().tasks
    assert limits.budget_usd
    assert limits.budget_tokens


@pytest.mark.parametrize("budget", [{"budget_usd": 2 * COST}, {"budget_tokens": 2200}])
async def test_a_budget_that_is_spent(gateway, provider, budget):
    caller = gateway(content(provider, agent=budget, price=PRICE))
    used = 'quartet_model_budget_used_ratio{agent="pick"}'
    assert await caller.metric(used) == 0
    assert (await caller.ask()).status_code == 200
    assert await caller.metric(used) == pytest.approx(0.5)
    assert (await caller.ask()).status_code == 200
    response = await caller.ask()
    assert response.status_code == 402
    assert await caller.metric(used) == pytest.approx(1.0)
    error = response.json()["error"]
    assert error["code"] == "budget_spent"
    assert f"agents.pick.{next(iter(budget))}" in error["message"]
    assert len(provider.requests) == 2, "the provider was not asked"
    assert (await caller.ask("place")).status_code == 200, "another agent has its own budget"


async def test_a_budget_survives_a_restart(gateway, provider, tmp_path):
    file = content(provider, agent={"budget_usd": COST}, price=PRICE)
    assert (await gateway(file, ledger=SpendingLedger(tmp_path)).ask()).status_code == 200
    assert (await gateway(file, ledger=SpendingLedger(tmp_path)).ask()).status_code == 402


async def test_a_daily_budget_begins_anew(gateway, provider):
    clock = [1_000_000.0]
    ledger = SpendingLedger(now=lambda: clock[0])
    file = content(provider, agent={"budget_usd": COST, "budget_period": "day"}, price=PRICE)
    caller = gateway(file, ledger=ledger)
    assert (await caller.ask()).status_code == 200
    assert (await caller.ask()).status_code == 402
    clock[0] += 86_400
    assert (await caller.ask()).status_code == 200


async def test_a_failed_request_costs_nothing(gateway, provider):
    provider.plan = [400]
    caller = gateway(content(provider, agent={"budget_tokens": 1}, price=PRICE))
    assert (await caller.ask()).status_code == 424
    assert (await caller.ask()).status_code == 200


# What may be sent


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]},
            "messages.0.content.0.image_url.url",
        )
        for url in ("https://attacker.example/?secret", "http://169.254.169.254/", "file:///etc/passwd", "gs://b/x")
    ]
    + [
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "https://a.example/x"}]}]},
            "messages.0.content.0.image_url",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "https://a.example"}}]}]},
            "'messages.0.content.0': a part of a message is of type text or image_url",
        ),
        (
            {"messages": [{"role": "tool", "tool_call_id": "1", "content": [{"type": "video_url", "video_url": "x"}]}]},
            "messages.0.content.0",
        ),
        ({"messages": [{"role": "nobody", "content": "x"}]}, "messages.0.role"),
        ({"tools": [{"type": "web_search_preview"}]}, "tools.0.type"),
    ],
)
async def test_a_request_is_no_way_out_of_the_machine(gateway, provider, changed, field):
    response = await gateway(content(provider)).ask(**changed)
    assert response.status_code == 400
    assert field in response.json()["error"]["message"]
    assert provider.requests == []


# Prompt caching

PROMPT = [
    {"role": "system", "content": "You are an agent. " * 200},
    {"role": "user", "content": "<sentence>go</sentence>"},
]


async def test_claude_gets_cache_markers(gateway, provider):
    base = provider.url.removesuffix("/v1")
    caller = gateway(
        content(provider, model="anthropic/claude-sonnet-4-5", api_base=base),
        env={"ANTHROPIC_API_KEY": "sk-ant-test-0000"},
    )
    response = await caller.ask(messages=PROMPT)
    assert response.status_code == 200, response.text
    sent = provider.requests[0]
    assert sent["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert sent["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert (
        await caller.metric(
            'quartet_model_tokens_total{agent="pick",kind="cached",model="anthropic/claude-sonnet-4-5"}'
        )
        == 900
    )


async def test_caching_can_be_turned_off(gateway, provider):
    base = provider.url.removesuffix("/v1")
    caller = gateway(
        content(provider, model="anthropic/claude-sonnet-4-5", api_base=base, prompt_caching="off"),
        env={"ANTHROPIC_API_KEY": "sk-ant-test-0000"},
    )
    await caller.ask(messages=PROMPT)
    assert "cache_control" not in str(provider.requests[0])


async def test_a_server_of_ones_own_gets_no_markers(gateway, provider):
    await gateway(content(provider)).ask(messages=PROMPT)
    assert "cache_control" not in str(provider.requests[0])


# Keys


async def test_a_key_goes_to_the_provider_and_nowhere_else(gateway, provider, caplog):
    caplog.set_level(logging.DEBUG)
    key = "plain-secret-0123456789"
    provider.plan = [401]
    caller = gateway(content(provider, api_key_env="MY_OWN_API_KEY"), env={"MY_OWN_API_KEY": key})
    refused = await caller.ask()
    answered = await caller.ask()
    assert provider.headers[0]["authorization"] == f"Bearer {key}"
    assert refused.status_code == 424
    assert answered.status_code == 200
    shown = [
        refused.text,
        answered.text,
        (await caller.http.get("/health")).text,
        (await caller.http.get("/metrics")).text,
    ]
    shown += [(await caller.http.get("/v1/models")).text, repr(caller.gateway.model_names())]
    own = [r.getMessage() for r in caplog.records if r.name.startswith(("quartet", "LiteLLM"))]
    assert all(key not in text for text in [*shown, *own])


async def test_a_key_that_the_provider_quotes_is_not_passed_on(gateway, provider):
    key = "plain-secret-0123456789"
    quoted = f"Incorrect API key provided: {key}, or was it sk-proj-abcdef1234567 (Bearer abc.def.ghi)"
    provider.plan = [(401, {"error": {"message": quoted}})]
    caller = gateway(content(provider, api_key_env="MY_OWN_API_KEY"), env={"MY_OWN_API_KEY": key})
    message = (await caller.ask()).json()["error"]["message"]
    assert "Incorrect API key provided" in message
    assert key not in message
    assert "sk-proj" not in message
    assert "abc.def" not in message


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        ({"model": "anthropic/claude-sonnet-4-5"}, "ANTHROPIC_API_KEY"),
        ({"model": "openai/gpt-4.1"}, "OPENAI_API_KEY"),
        ({"model": "gemini/gemini-2.5-pro"}, "GEMINI_API_KEY"),
        ({"model": "hosted_vllm/qwen3"}, "QUARTET_MODEL_API_BASE"),
        (
            {"model_pick": "mistral/mistral-large-latest", "model": "hosted_vllm/x", "model_api_base": "http://h:1"},
            "MISTRAL_API_KEY",
        ),
        ({}, "QUARTET_SCRIPTED_MODEL_URL"),
    ],
)
async def test_what_is_missing_is_named(gateway, settings, variable):
    caller = gateway(**settings)
    health = await caller.http.get("/health")
    assert health.status_code == 503
    assert variable in health.json()["problems"]["pick"]
    response = await caller.ask("pick")
    assert response.status_code == 503
    assert response.json()["error"]["code"] == "model_not_configured"
    assert variable in response.json()["error"]["message"]


async def test_a_missing_key_of_one_agent_leaves_the_others_at_work(gateway, provider):
    caller = gateway(content(provider), model_pick="openai/gpt-4.1")
    assert list((await caller.http.get("/health")).json()["problems"]) == ["pick"]
    assert (await caller.ask("place")).status_code == 200
    assert (await caller.ask("pick")).status_code == 503


async def test_a_fallback_serves_while_the_first_model_has_no_key(gateway, provider):
    file = {"models": models(provider), "agents": {"pick": {"model": "openai/gpt-4.1", "fallbacks": ["main"]}}}
    caller = gateway(file)
    assert (await caller.ask()).json()["quartet"]["model"] == "hosted_vllm/double"


async def test_one_line_switches_all_agents(gateway, provider):
    caller = gateway({}, model="hosted_vllm/mine", model_api_base=provider.url)
    for agent in AGENTS:
        assert (await caller.ask(agent)).json()["quartet"]["model"] == "hosted_vllm/mine"
    assert provider.requests[0]["model"] == "mine"


# Callers


async def test_without_keys_only_this_machine_is_served(gateway, provider):
    assert (await gateway(content(provider)).ask()).status_code == 200
    response = await gateway(content(provider), client=("192.0.2.7", 1)).ask()
    assert response.status_code == 401
    assert "QUARTET_GATEWAY_KEY" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://a-page.example"}, {"Origin": "null"}, {"Host": "a-page.example:80"}, {"Host": "[:"}]
)
async def test_without_keys_no_web_page_is_served(gateway, provider, headers):
    response = await gateway(content(provider)).ask(headers=headers)
    assert response.status_code == 403
    assert "set QUARTET_GATEWAY_KEY" in response.json()["error"]["message"]
    assert provider.requests == []
    keys = {"key-of-pick": frozenset({"pick"})}
    known = {**headers, "Authorization": "Bearer key-of-pick"}
    assert (await gateway(content(provider), keys=keys).ask(headers=known)).status_code == 200


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:8080", "[::1]:8080"])
async def test_without_keys_this_machine_is_served_by_its_names(gateway, provider, host):
    assert (await gateway(content(provider)).ask(headers={"Host": host})).status_code == 200


async def test_a_password_in_an_endpoint_is_not_told(gateway, provider):
    provider.plan = [401]
    base = provider.url.replace("http://", "http://someone:s3cret@")
    response = await gateway({}, model="hosted_vllm/mine", model_api_base=base).ask()
    message = response.json()["error"]["message"]
    assert "://someone:***@" in message
    assert "s3cret" not in message


async def test_a_key_is_for_its_agents(gateway, provider):
    keys = {"key-of-pick": frozenset({"pick"}), "key-of-all": frozenset({"pick", "place"})}
    caller = gateway(content(provider), keys=keys, client=("192.0.2.7", 1))

    async def status(agent, key):
        return (await caller.ask(agent, headers={"Authorization": f"Bearer {key}"} if key else None)).status_code

    assert await status("pick", "key-of-pick") == 200
    assert await status("place", "key-of-pick") == 403
    assert await status("place", "key-of-all") == 200
    assert await status("pick", "guessed") == 401
    assert await status("pick", None) == 401
    assert (await caller.http.get("/v1/usage")).status_code == 401
    assert (await caller.http.get("/health")).status_code == 200


# Requests


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"model": "chef"}, "valid: orchestrator, approach, pick, place"),
        ({"messages": []}, "messages"),
        ({"stream": True}, "stream"),
        ({"api_base": "http://evil"}, "api_base"),
        ({"api_key": "x"}, "api_key"),
        ({"temperature": 9}, "temperature"),
        ({"n": 3}, "'n'"),
    ],
)
async def test_a_request_that_cannot_be_served(gateway, provider, body, says):
    caller = gateway(content(provider))
    response = await caller.http.post(
        "/v1/chat/completions", json={"model": "pick", "messages": [{"role": "user", "content": "x"}], **body}
    )
    assert response.status_code == 400
    assert says in response.json()["error"]["message"]
    assert not provider.requests


async def test_a_request_that_is_too_long_is_refused_however_it_comes(gateway, provider, monkeypatch):
    monkeypatch.setattr("quartet_gateway.app.MAX_BODY", 1000)

    async def in_parts():
        for _ in range(100):
            yield b"x" * 500

    for body in (b"x" * 1001, in_parts()):
        response = await gateway(content(provider)).http.post("/v1/chat/completions", content=body)
        assert response.status_code == 400
        assert "more than 1000 bytes" in response.json()["error"]["message"]
    assert not provider.requests


async def test_a_request_that_is_not_json(gateway, provider):
    response = await gateway(content(provider)).http.post("/v1/chat/completions", content=b"{")
    assert response.status_code == 400


# What a provider tells of its usage


TOLD = {
    "nothing": None,
    "no numbers": {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None},
    "less than nothing": {"prompt_tokens": -1_000_000, "completion_tokens": -5, "total_tokens": -1_000_005},
    "more than can be": {"prompt_tokens": 10**30, "completion_tokens": 5, "total_tokens": 10**30},
}


@pytest.mark.parametrize("told", TOLD)
async def test_usage_that_cannot_be_is_estimated_and_counts(gateway, provider, told, caplog, monkeypatch):
    """Budgets of tokens and money would never be spent, or grow by each answer."""
    monkeypatch.setattr("quartet_gateway.usage._told", set())
    provider.usage = TOLD[told]
    caller = gateway(content(provider, price=PRICE, agent={"budget_tokens": 1_000}))
    response = await caller.ask(messages=[{"role": "user", "content": "x" * 4_000}])
    assert response.status_code == 200, response.text
    usage = response.json()["usage"]
    assert (usage["prompt_tokens"], usage["total_tokens"] - usage["completion_tokens"]) == (1_000, 1_000)
    assert 0 < usage["completion_tokens"] < 100
    cost = 1_000 * 3e-6 + usage["completion_tokens"] * 15e-6
    assert response.json()["quartet"]["cost_usd"] == pytest.approx(cost)
    assert "its tokens and cost are estimated from the text" in caplog.text
    assert (await caller.ask()).json()["error"]["code"] == "budget_spent"


UNNAMED = [
    {"id": "a", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
    {"id": "a", "type": "function", "function": {"arguments": "{}"}},
    {"id": "a", "type": "function", "function": {"name": None, "arguments": "{}"}},
]


@pytest.mark.parametrize("call", UNNAMED, ids=["custom", "without a name", "null"])
async def test_a_call_of_nothing_is_asked_for_again_and_counts(gateway, provider, call):
    completion = provider.completion()
    completion["choices"][0]["message"]["tool_calls"] = [call]
    provider.plan = [completion]
    caller = gateway(content(provider))
    response = await caller.ask()
    assert response.status_code == 200, response.text
    assert response.json()["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "pick"
    assert (await caller.http.get("/v1/usage")).json()["agents"]["pick"]["requests"] == 2
    provider.plan = [completion] * 20
    response = await caller.ask()
    assert (response.status_code, response.json()["error"]["code"]) == (502, "model_failed")
    assert "a call that names no function" in response.json()["error"]["message"]
