"""Dashboards of what everything stands on: safety and the bus."""

from grafana_foundation_sdk.builders.dashboard import Dashboard
from panels import CONNECTED, STOPPED, WINDOW, bars, board, lines, number, quantile, states


def safety() -> Dashboard:
    """Return the dashboard "Robot safety: stops, heartbeats, refused calls, fences"."""
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
                {"{{target}}": f"{quantile(0.99, 'quartet_stop_reached_seconds', '1h', 'target')} or vector(0)"},
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
    """Return the dashboard "Bus: streams, waiting requests, Redis"."""
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
                    "p50": quantile(0.5, "quartet_bus_round_trip_seconds", "10m"),
                    "p99": "quartet:bus_round_trip:p99_10m",
                },
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Request made to begun",
                {
                    "p50": quantile(0.5, "quartet_skill_request_wait_seconds", "10m"),
                    "p99": quantile(0.99, "quartet_skill_request_wait_seconds", "10m"),
                },
                unit="s",
            )
        )
        .with_panel(
            lines("Task accepted to begun, p99", {"p99": quantile(0.99, "quartet_task_wait_seconds", "30m")}, unit="s")
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
