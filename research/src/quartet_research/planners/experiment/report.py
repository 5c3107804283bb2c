"""Result of an experiment as Markdown, CSV, JSON and a picture, the published figures beside it."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from quartet_benchmarks.prices import SPEAKERS
from quartet_benchmarks.result import BenchResult, Rate
from quartet_research.harness.shards import BROKE_OFF
from quartet_research.planners.table import (
    Entry,
    detail,
    harness_ms_per_step,
    headline,
    history_rows,
    main_rows,
    size_rows,
    success,
)

TEAM_COLOURS = {"cmas": "tab:blue", "dmas": "tab:red", "hmas1": "tab:orange", "hmas2": "tab:green"}
WIDTH_IN, PANEL_IN = 4.0, 3.0
SPREAD = 0.03
"""By which the marks of the teams stand beside each other, in the distance of two sizes."""
PUBLISHED_NOTE = (
    "GPT-4 in the paper: success [%] / steps / API calls / tokens, each divided by the best framework of its trial. "
    "Here: steps allowed as in the paper, success on the last step counts, instances are our own draws."
)


def make_result(entries: Sequence[Entry], errors: Mapping[Any, str], parameters: dict[str, Any]) -> BenchResult:
    """Return the result of the trials; errors are of trials that were not begun."""
    kinds = sorted({(entry.model, entry.history) for entry in entries})
    metrics: dict[str, float | Rate] = {}
    for model, history in kinds:
        own = [entry for entry in entries if (entry.model, entry.history) == (model, history)]
        suffix = f" ({model}, {history})" if len(kinds) > 1 else ""
        metrics |= {name + suffix: value for name, value in headline(own).items()}
    metrics["harness_ms_per_step"] = harness_ms_per_step(entries)
    notes = [PUBLISHED_NOTE, "Steps, calls and tokens are means of successful trials."]
    if any(model.startswith(SPEAKERS) for model, _ in kinds):
        notes.append(f"{SPEAKERS} are rules with faults at the given rate, not language models.")
    if errors:
        first = next(iter(errors.values()))
        notes.append(
            f"{len(errors)} trials were not begun and are in no figure; run it again. The first: {first[:300]}"
        )
    if broken := [entry.trial.reason for entry in entries if entry.trial.reason.startswith(BROKE_OFF)]:
        notes.append(
            f"{len(broken)} trials count as failed; run it again to complete them. The first {broken[0][:300]}"
        )
    return BenchResult("planners", parameters, metrics, main_rows(entries), [detail(e) for e in entries], notes)


def write(folder: Path, result: BenchResult, entries: Sequence[Entry]) -> list[Path]:
    """Write `table.md`, `table.csv`, `trials.csv`, `result.json` and `success.png` and return their paths."""
    paths = [folder / name for name in ("table.md", "table.csv", "trials.csv", "result.json", "success.png")]
    parts = ["# Planning for many robots", ", ".join(f"{name} {value}" for name, value in result.parameters.items())]
    parts += ["## Success, steps, calls, tokens", _markdown(result.rows)]
    if ablation := history_rows(entries):
        parts += ["## By history (GPT-4: none / state-action / dialogue)", _markdown(ablation)]
    parts += ["## Success by number of robots", _markdown(size_rows(entries)), "![success](success.png)"]
    parts += [f"- {note}" for note in result.notes]
    paths[0].write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    _write_csv(paths[1], result.rows)
    _write_csv(paths[2], result.details)
    paths[3].write_text(json.dumps(result.as_json(), indent=1) + "\n", encoding="utf-8")
    draw_success(entries).savefig(paths[4], dpi=120)
    return paths


def draw_success(entries: Sequence[Entry]) -> Figure:
    """Return the success of each team against the number of robots: a row for each model and history."""
    kinds = sorted({(entry.model, entry.history) for entry in entries})
    worlds = list(dict.fromkeys(entry.world for entry in entries))
    teams = sorted({entry.team for entry in entries})
    figure = Figure(figsize=(WIDTH_IN * len(worlds), PANEL_IN * len(kinds) + 0.5), layout="constrained")
    axes = figure.subplots(len(kinds), len(worlds), squeeze=False, sharey=True)
    for row, (model, history) in zip(axes, kinds, strict=True):
        for panel, world in zip(row, worlds, strict=True):
            own = [e for e in entries if (e.model, e.history, e.world) == (model, history, world)]
            sizes = sorted({entry.robots for entry in own})
            for index, team in enumerate(teams):
                rates = [success(e for e in own if (e.team, e.robots) == (team, size)) for size in sizes]
                shift = (index - (len(teams) - 1) / 2) * SPREAD
                values = [100 * rate.value for rate in rates]
                low = [100 * (rate.value - rate.interval[0]) for rate in rates]
                high = [100 * (rate.interval[1] - rate.value) for rate in rates]
                places = [at + shift for at in range(len(sizes))]
                colour = TEAM_COLOURS.get(team)
                panel.errorbar(places, values, yerr=[low, high], label=team, color=colour, marker="o", capsize=3)
            panel.set_xticks(range(len(sizes)), [str(size) for size in sizes])
            panel.set_title(f"{world}\n{model}, history {history}", fontsize=9)
            panel.set_xlabel("robots")
            panel.set_xlim(-0.5, len(sizes) - 0.5)
            panel.set_ylim(-4, 104)
            panel.grid(alpha=0.3)
        row[0].set_ylabel("success [%], 95 % interval")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(teams))
    return figure


def _markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [columns, ["---"] * len(columns), *([_cell(row.get(name)) for name in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    return "" if value is None else str(value).replace("|", "\\|")


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
