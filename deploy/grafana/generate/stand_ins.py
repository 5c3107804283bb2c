"""Dashboard of what stands in for a robot and a provider: the simulation and the scripted model."""

from grafana_foundation_sdk.builders.dashboard import Dashboard
from panels import WINDOW, board, lines, number, quantile


def simulation() -> Dashboard:
    """Return the dashboard "Simulation: speed, goals, rendering, faults, scripted model"."""
    world, step = "quartet_simulation_world_seconds_total", "quartet_simulation_step_seconds_total"
    asked = "quartet_scripted_requests_total"
    return (
        board("simulation", "Simulation", "The simulated robots and the scripted model; empty where neither runs.")
        .with_panel(
            number(
                "Times real time",
                f"sum(rate({world}{WINDOW})) / sum(rate({step}{WINDOW}))",
                about="What physics and control can do while the world moves.",
            )
        )
        .with_panel(number("World time", "max(quartet_simulation_world_time_seconds)", unit="s"))
        .with_panel(number("Connections to rosbridge", "sum(quartet_simulation_bridge_clients)"))
        .with_panel(number("Frames in the last hour", "sum(increase(quartet_simulation_render_seconds_count[1h]))"))
        .with_panel(number("Guards latched", "sum(quartet_simulation_guard_latched)", bad_from=1))
        .with_panel(
            number("Faults of the bridge, 1 h", "sum(increase(quartet_simulation_faults_total[1h])) or vector(0)")
        )
        .with_panel(
            lines(
                "World time that passes",
                {"{{instance}}": f"rate({world}{WINDOW})"},
                about="Per second: 1 is real time, 0 a world in which nothing moves.",
            )
        )
        .with_panel(
            lines(
                "Goals ended",
                {"{{kind}} {{outcome}}": f"sum by (kind, outcome) (increase(quartet_simulation_goals_total{WINDOW}))"},
                stacked=True,
            )
        )
        .with_panel(
            lines(
                "Frames rendered",
                {"{{camera}}": f"sum by (camera) (rate(quartet_simulation_render_seconds_count{WINDOW}))"},
                about="Per second.",
                stacked=True,
            )
        )
        .with_panel(
            lines(
                "Rendering of a frame, p95 of 10 minutes",
                {"{{camera}}": quantile(0.95, "quartet_simulation_render_seconds", "10m", "camera")},
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Guard",
                {
                    "stops": f"sum(increase(quartet_simulation_guard_stops_total{WINDOW}))",
                    "lapses": f"sum(increase(quartet_simulation_guard_lapses_total{WINDOW}))",
                },
            )
        )
        .with_panel(
            lines(
                "Faults of the bridge",
                {"{{kind}}": f"sum by (kind) (increase(quartet_simulation_faults_total{WINDOW})) or vector(0)"},
                stacked=True,
            )
        )
        .with_panel(
            lines(
                "Scripted model: answers",
                {"{{agent}} {{outcome}}": f"sum by (agent, outcome) (increase({asked}{WINDOW}))"},
                stacked=True,
                wide=12,
            )
        )
        .with_panel(
            lines(
                "Scripted model: answers made to go wrong",
                {"{{kind}}": f"sum by (kind) (increase(quartet_scripted_spoiled_total{WINDOW})) or vector(0)"},
                stacked=True,
                wide=12,
            )
        )
    )
