"""Dashboards of one agent, and of models and what they cost."""

from grafana_foundation_sdk.builders.dashboard import Dashboard
from panels import WINDOW, bars, board, lines, number, quantile, variable


def agent() -> Dashboard:
    """Return the dashboard "One agent: failures, attempts, waiting"."""
    which = '{agent="$agent"}'
    return (
        board("agent", "One agent", "All replicas of one agent together.")
        .with_variable(variable("agent", "Agent", "quartet_agents_alive", "agent"))
        .with_panel(number("Replicas that live", f"max(quartet_agents_alive{which})"))
        .with_panel(number("Requests running", f"sum(quartet_skill_requests_running{which})"))
        .with_panel(number("Requests waiting", 'max(quartet_queue_waiting{stream="skill:$agent"})'))
        .with_panel(
            number("Failed, 15 minutes", f"quartet:skill_errors:ratio15m{which}", unit="percentunit", bad_from=0.5)
        )
        .with_panel(number("Memory", 'max(process_resident_memory_bytes{job="$agent"})', unit="bytes"))
        .with_panel(
            number(
                "Tokens in the last hour", f"sum(increase(quartet_loop_tokens_total{which}[1h]))", about="In and out."
            )
        )
        .with_panel(
            lines(
                "Requests by code",
                {"{{code}}": f"sum by (code) (increase(quartet_skill_requests_total{which}{WINDOW}))"},
                stacked=True,
            )
        )
        .with_panel(
            lines(
                "Requests by attempt",
                {"attempt {{attempt}}": f"sum by (attempt) (increase(quartet_skill_requests_total{which}{WINDOW}))"},
                stacked=True,
            )
        )
        .with_panel(
            lines(
                "Request duration",
                {
                    "p50": quantile(0.5, "quartet_skill_request_seconds", "10m", of='agent="$agent"'),
                    "p95": quantile(0.95, "quartet_skill_request_seconds", "10m", of='agent="$agent"'),
                },
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Wait before it is begun, p99",
                {"p99": quantile(0.99, "quartet_skill_request_wait_seconds", "10m", of='agent="$agent"')},
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Model answers",
                {"p95": quantile(0.95, "quartet_model_answer_seconds", "10m", of='agent="$agent"')},
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Loops ended",
                {"{{cause}}": f"sum by (cause) (increase(quartet_loops_total{which}{WINDOW}))"},
                stacked=True,
            )
        )
        .with_panel(
            lines(
                "Tool calls",
                {"{{tool}}": f"sum by (tool) (increase(quartet_agent_tool_calls_total{which}{WINDOW}))"},
                stacked=True,
                wide=12,
            )
        )
        .with_panel(
            lines(
                "Tool calls that failed",
                {
                    "{{tool}} {{code}}": "sum by (tool, code) (increase(quartet_agent_tool_calls_total"
                    f'{{agent="$agent",code!="NONE"}}{WINDOW})) or vector(0)'
                },
                stacked=True,
                wide=12,
            )
        )
    )


def models() -> Dashboard:
    """Return the dashboard "Models and cost: tokens, cost, answer times, budgets"."""
    return (
        board("models", "Models and cost", "What the model gateway asks, gets and pays.")
        .with_panel(number("Cost in the last hour", "sum(quartet:model_cost:usd1h)", unit="currencyUSD"))
        .with_panel(number("Requests per minute", f"60 * sum(rate(quartet_model_requests_total{WINDOW}))"))
        .with_panel(
            number(
                "Failed, 5 minutes", "max(quartet:model_errors:ratio5m) or vector(0)", unit="percentunit", bad_from=0.3
            )
        )
        .with_panel(
            number(
                "Answered by a fallback, 1 h",
                "sum(increase(quartet_model_fallbacks_total[1h])) or vector(0)",
                bad_from=1,
            )
        )
        .with_panel(
            number(
                "Most of a budget",
                "max(quartet_model_budget_used_ratio) or vector(0)",
                unit="percentunit",
                bad_from=0.8,
            )
        )
        .with_panel(number("Tokens in the last hour", "sum(increase(quartet_model_tokens_total[1h]))"))
        .with_panel(
            lines(
                "Tokens",
                {"{{agent}} {{kind}}": f"sum by (agent, kind) (rate(quartet_model_tokens_total{WINDOW}))"},
                stacked=True,
                about="Per second.",
            )
        )
        .with_panel(
            lines(
                "Cost per hour", {"{{agent}} {{model}}": "quartet:model_cost:usd1h"}, unit="currencyUSD", stacked=True
            )
        )
        .with_panel(
            lines(
                "Answer time, p95 of 10 minutes",
                {
                    "{{agent}}": quantile(0.95, "quartet_model_request_seconds", "10m", "agent"),
                    "{{model}}": quantile(0.95, "quartet_model_try_seconds", "10m", "model"),
                },
                unit="s",
                about="Of an agent with retries and fallbacks, of a model alone.",
            )
        )
        .with_panel(
            lines(
                "Requests by outcome",
                {"{{outcome}}": f"sum by (outcome) (increase(quartet_model_requests_total{WINDOW}))"},
                stacked=True,
            )
        )
        .with_panel(
            lines(
                "Failed tries",
                {
                    "{{model}} {{error}}": f"sum by (model, error) (increase(quartet_model_failures_total{WINDOW})) "
                    "or vector(0)"
                },
                stacked=True,
                about="Those that were tried again included.",
            )
        )
        .with_panel(
            bars(
                "Used of the budget",
                "max by (agent) (quartet_model_budget_used_ratio) or vector(0)",
                "{{agent}}",
                unit="percentunit",
                about="Of agents that have one, see deploy/gateway.yaml.",
            )
        )
    )
