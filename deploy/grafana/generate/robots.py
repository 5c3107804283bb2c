"""Dashboards of the fleet and of one robot's task."""

from grafana_foundation_sdk.builders.dashboard import Dashboard
from panels import STOPPED, UP, WINDOW, bars, board, lines, number, quantile, rows, states, variable


def fleet() -> Dashboard:
    """Return the dashboard "Fleet: all robots and processes"."""
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
                    "p50": quantile(0.5, "quartet_task_seconds", "30m"),
                    "p95": quantile(0.95, "quartet_task_seconds", "30m"),
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
    """Return the dashboard "One task: what a robot does, with which tools"."""
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
                {"{{server}}": quantile(0.95, "quartet_tool_call_seconds", "10m", "server", 'robot="$robot"')},
                unit="s",
            )
        )
        .with_panel(
            lines("Heartbeat age", {"{{server}} {{sender}}": f"quartet_heartbeat_age_seconds{robot}"}, unit="s")
        )
    )
