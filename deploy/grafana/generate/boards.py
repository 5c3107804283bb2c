"""The dashboards."""

from collections.abc import Callable

from grafana_foundation_sdk.builders.dashboard import Dashboard
from panels import WINDOW, bars, board, lines, number, rows, states, variable

STOPPED = {"0": ("free", "green"), "1": ("stopped", "red")}
CONNECTED = {"0": ("lost", "red"), "1": ("connected", "green")}
UP = {"0": ("down", "red"), "1": ("up", "green")}


def fleet() -> Dashboard:
    return (
        board("fleet", "Fleet", "What all robots and processes do now.")
        .with_panel(number("Tasks running", "sum(quartet_tasks_running)"))
        .with_panel(number("Tasks waiting", 'sum(max by (stream) (quartet_queue_waiting{stream=~"tasks:.*"}))'))
        .with_panel(
            number(
                "Succeeded in the last hour", "quartet:task_success:ratio1h", unit="percentunit", about="Of all ended."
            )
        )
        .with_panel(number("Robots stopped", "sum(max by (robot) (quartet_stop_latched))", bad_from=1))
        .with_panel(number("Processes down", "count(up == 0) or vector(0)", bad_from=1))
        .with_panel(number("Alerts", 'count(ALERTS{alertstate="firing"}) or vector(0)', bad_from=1))
        .with_panel(
            lines("Tasks ended", {"{{state}}": f"sum by (state) (increase(quartet_tasks_total{WINDOW}))"}, stacked=True)
        )
        .with_panel(
            lines(
                "Task duration",
                {
                    "p50": _quantile(0.5, "quartet_task_seconds", "30m"),
                    "p95": _quantile(0.95, "quartet_task_seconds", "30m"),
                },
                unit="s",
                about="From the acceptance to the end, of the tasks of the last 30 minutes.",
            )
        )
        .with_panel(
            lines("Longest wait", {"{{stream}}": "quartet:queue_age:max"}, unit="s", about="Of what waits now.")
        )
        .with_panel(rows("Agents that live", "max by (agent) (quartet_agents_alive)"))
        .with_panel(rows("Where the robots are", 'max by (robot, __name__) ({__name__=~"quartet_robot_[xy]_metres"})'))
        .with_panel(bars("Battery", "max by (robot) (quartet_robot_battery_ratio)", "{{robot}}", unit="percentunit"))
        .with_panel(states("Processes", {"{{job}} {{instance}}": "up"}, words=UP))
        .with_panel(states("Robot guards", {"{{robot}}": "max by (robot) (quartet_stop_latched)"}, words=STOPPED))
        .with_panel(lines("Memory", {"{{job}}": "sum by (job) (process_resident_memory_bytes)"}, unit="bytes"))
        .with_panel(
            lines("CPU", {"{{job}}": f"sum by (job) (rate(process_cpu_seconds_total{WINDOW}))"}, about="Cores in use.")
        )
        .with_panel(lines("Event loop held up", {"{{job}}": "max by (job) (quartet_event_loop_lag_seconds)"}, unit="s"))
    )


def task() -> Dashboard:
    robot = '{robot="$robot"}'
    calls = f"quartet_tool_calls_total{robot}"
    return (
        board(
            "task",
            "One task",
            "A robot has one task at a time: choose the robot and the time; logs and traces name it.",
        )
        .with_variable(variable("robot", "Robot", "quartet_tasks_running", "robot"))
        .with_panel(number("Works on a task", f"max(quartet_tasks_running{robot})"))
        .with_panel(number("Waiting behind it", 'max(quartet_queue_waiting{stream="tasks:$robot"})'))
        .with_panel(number("Motions now", f"sum(quartet_motions_running{robot})"))
        .with_panel(number("Fence", f"max(quartet_fence{robot})", about="Counts the attempts at skills of this robot."))
        .with_panel(number("Calls refused", f"sum(quartet_grants_refused_total{robot}) or vector(0)"))
        .with_panel(number("Battery", f"max(quartet_robot_battery_ratio{robot})", unit="percentunit"))
        .with_panel(
            lines(
                "Tool calls",
                {"{{server}} {{tool}}": f"sum by (server, tool) (increase({calls}{WINDOW})) > 0"},
                stacked=True,
                wide=12,
            )
        )
        .with_panel(
            lines(
                "Codes of tool calls",
                {"{{code}}": f"sum by (code) (increase(quartet_tool_calls_total{robot}{WINDOW}))"},
                stacked=True,
                wide=12,
            )
        )
        .with_panel(lines("Motions", {"{{server}}": f"quartet_motions_running{robot}"}))
        .with_panel(
            lines("Position", {"x": f"quartet_robot_x_metres{robot}", "y": f"quartet_robot_y_metres{robot}"}, unit="m")
        )
        .with_panel(lines("Heading", {"yaw": f"quartet_robot_yaw_radians{robot}"}, unit="radian"))
        .with_panel(
            lines(
                "Time in tools",
                {"{{server}}": f"sum by (server) (rate(quartet_tool_call_seconds_sum{robot}{WINDOW}))"},
                about="Of one second, how much was spent in tool calls.",
            )
        )
        .with_panel(
            lines(
                "Tool latency, p95 of 10 minutes",
                {"{{server}}": _quantile(0.95, "quartet_tool_call_seconds", "10m", "server", 'robot="$robot"')},
                unit="s",
            )
        )
        .with_panel(
            lines("Heartbeat age", {"{{server}} {{sender}}": f"quartet_heartbeat_age_seconds{robot}"}, unit="s")
        )
    )


def agent() -> Dashboard:
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
                    "p50": _quantile(0.5, "quartet_skill_request_seconds", "10m", of='agent="$agent"'),
                    "p95": _quantile(0.95, "quartet_skill_request_seconds", "10m", of='agent="$agent"'),
                },
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Wait before it is begun, p99",
                {"p99": _quantile(0.99, "quartet_skill_request_wait_seconds", "10m", of='agent="$agent"')},
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Model answers",
                {"p95": _quantile(0.95, "quartet_model_answer_seconds", "10m", of='agent="$agent"')},
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
                    "{{agent}}": _quantile(0.95, "quartet_model_request_seconds", "10m", "agent"),
                    "{{model}}": _quantile(0.95, "quartet_model_try_seconds", "10m", "model"),
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


def safety() -> Dashboard:
    return (
        board("safety", "Robot safety", "Stops, heartbeats, connections and refusals.")
        .with_panel(number("Robots stopped", "sum(max by (robot) (quartet_stop_latched))", bad_from=1))
        .with_panel(number("Stops in the last hour", "sum(increase(quartet_stops_total[1h])) or vector(0)"))
        .with_panel(
            number(
                "Stop orders not delivered, 1 h",
                "sum(increase(quartet_stop_missed_total[1h])) or vector(0)",
                bad_from=1,
            )
        )
        .with_panel(
            number("Heartbeats that stayed out, 1 h", "sum(increase(quartet_heartbeat_lapses[1h]))", bad_from=1)
        )
        .with_panel(number("Bridges lost", "count(quartet_bridge_connected == 0) or vector(0)", bad_from=1))
        .with_panel(number("Calls refused, 1 h", "sum(increase(quartet_grants_refused_total[1h])) or vector(0)"))
        .with_panel(states("Stop service", {"{{robot}}": "max by (robot) (quartet_stop_latched)"}, words=STOPPED))
        .with_panel(states("Robot guard", {"{{robot}}": "max by (robot) (quartet_guard_latched)"}, words=STOPPED))
        .with_panel(states("Servers", {"{{robot}} {{server}}": "quartet_server_stopped"}, words=STOPPED))
        .with_panel(states("Bridges", {"{{robot}} {{server}}": "quartet_bridge_connected"}, words=CONNECTED))
        .with_panel(
            lines(
                "Heartbeat age",
                {"{{robot}} {{server}} {{sender}}": "quartet_heartbeat_age_seconds"},
                unit="s",
                about="While something moves: of the caller to the server, of the server to the guard.",
            )
        )
        .with_panel(
            lines(
                "Stop reached its target, p99",
                {"{{target}}": f"{_quantile(0.99, 'quartet_stop_reached_seconds', '1h', 'target')} or vector(0)"},
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Calls refused",
                {
                    "{{server}} {{reason}}": "sum by (server, reason) (increase(quartet_grants_refused_total"
                    f"{WINDOW})) or vector(0)"
                },
                stacked=True,
            )
        )
        .with_panel(
            lines("Fence", {"{{robot}} {{server}}": "quartet_fence"}, about="Grows with every attempt at a skill.")
        )
        .with_panel(lines("Bridge connections lost", {"{{robot}} {{server}}": "quartet_bridge_reconnects"}))
        .with_panel(bars("Motions now", "sum by (robot, server) (quartet_motions_running)", "{{robot}} {{server}}"))
    )


def bus() -> Dashboard:
    return (
        board("bus", "Bus", "Redis streams: what waits, for how long, and how Redis is.")
        .with_panel(number("Redis answers", "min(quartet_bus_up)"))
        .with_panel(number("Longest wait", "max(quartet:queue_age:max)", unit="s", bad_from=60))
        .with_panel(number("Queue age, p99", "max(quartet:queue_age:p99_10m)", unit="s", about="Over 10 minutes."))
        .with_panel(number("Round trip, p99", "quartet:bus_round_trip:p99_10m", unit="s", bad_from=0.01))
        .with_panel(number("Dead letters", "max(quartet_dead_letters)", bad_from=1))
        .with_panel(number("Orchestrators", 'count(up{job="orchestrator"} == 1)'))
        .with_panel(lines("Waiting", {"{{stream}}": "max by (stream) (quartet_queue_waiting)"}, stacked=True))
        .with_panel(lines("Worked on", {"{{stream}}": "max by (stream) (quartet_queue_held)"}, stacked=True))
        .with_panel(lines("Age of the oldest", {"{{stream}}": "quartet:queue_age:max"}, unit="s"))
        .with_panel(
            lines(
                "Round trip of a script",
                {
                    "p50": _quantile(0.5, "quartet_bus_round_trip_seconds", "10m"),
                    "p99": "quartet:bus_round_trip:p99_10m",
                },
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Request made to begun",
                {
                    "p50": _quantile(0.5, "quartet_skill_request_wait_seconds", "10m"),
                    "p99": _quantile(0.99, "quartet_skill_request_wait_seconds", "10m"),
                },
                unit="s",
            )
        )
        .with_panel(
            lines("Task accepted to begun, p99", {"p99": _quantile(0.99, "quartet_task_wait_seconds", "30m")}, unit="s")
        )
        .with_panel(
            lines("Redis memory", {"used": "redis_memory_used_bytes", "limit": "redis_memory_max_bytes"}, unit="bytes")
        )
        .with_panel(lines("Redis commands", {"per second": f"sum(rate(redis_commands_processed_total{WINDOW}))"}))
        .with_panel(
            lines("Redis clients", {"connected": "redis_connected_clients", "blocked": "redis_blocked_clients"})
        )
        .with_panel(
            states(
                "Robots served by",
                {"{{instance}} {{robot}}": "quartet_robot_lease_held"},
                words={"0": ("-", "text"), "1": ("serves", "green")},
            )
        )
    )


def _quantile(share: float, metric: str, window: str, by: str = "", of: str = "") -> str:
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket{{{of}}}[{window}])))"


BOARDS: dict[str, Callable[[], Dashboard]] = {
    "fleet": fleet,
    "task": task,
    "agent": agent,
    "models": models,
    "safety": safety,
    "bus": bus,
}
