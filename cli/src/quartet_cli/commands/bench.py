"""`quartet bench SUITE`: measure, print a table, write JSON."""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Literal

import typer

from quartet_cli.commands.common import Sensors, SimulatedRobots
from quartet_cli.errors import CannotStartError, UsageError
from quartet_deployment import DEFAULT_SENSORS, StackError

PLANNERS = "Options of planners"
MALMM = "Options of malmm"
ROCO = "Options of roco"


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("bench")(bench)


def bench(
    suite: Annotated[str | None, typer.Argument(help="Name of the suite; without one all names are listed.")] = None,
    episodes: Annotated[
        int | None, typer.Option("--episodes", min=1, help="Number of episodes; default: the suite's own.")
    ] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(
            "--seed",
            min=0,
            help="Seed of what is drawn at random; default: 0. Of home it may be repeated: results are pooled, and "
            "written to a new file, which --json names.",
        ),
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="Measure less, so that it ends within 50 s on 2 idle cores.")
    ] = False,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="File to write the result to, as one JSON object.")
    ] = None,
    sensors: Sensors = DEFAULT_SENSORS,
    catalogue: Annotated[
        Literal["exact", "stated", "rough", "unsized"] | None,
        typer.Option(
            "--catalogue",
            help="Sizes in site.yaml. exact: as measured (default of perception); stated: rounded and off by up to a "
            "tenth, as people write them (default of home); rough: the same, without parts; unsized: none where colour "
            "and shape tell things apart.",
        ),
    ] = None,
    world: Annotated[
        list[str] | None,
        typer.Option(
            "--world",
            help="World of home: home, studio, a folder, or generated:SEED; may be repeated, and shares the episodes.",
        ),
    ] = None,
    robot: SimulatedRobots = None,
    tier: Annotated[
        Literal["easy", "normal", "hard"] | None,
        typer.Option(
            "--tier",
            help="Of home, how hard it is: easy (default); normal: typical sensors, clutter, unknown things, free "
            "wording, generated homes; hard: harsh sensors, hidden things.",
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind", help='Of home: kind of episode, such as "object is taken away"; may be repeated. Default: all.'
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            help="Of home: sensors, light, clutter or occlusion; plays all at each of its levels, draws the curve of "
            "success. May be repeated.",
        ),
    ] = None,
    framework: Annotated[
        list[str] | None,
        typer.Option(
            "--framework",
            help="cmas, dmas, hmas1 or hmas2 (default: all), for malmm sa, ma or malmm (all), for roco dialogue "
            "(default), central or one_voice, for emos a method or baseline (docs/emos.md), for dispatch a team for "
            "pairs of tasks, such as emos; may be repeated.",
            rich_help_panel=PLANNERS,
        ),
    ] = None,
    worlds: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            help="boxnet1, boxnet2, warehouse, boxlift, or a YAML file of these options. Default: all.",
            rich_help_panel=PLANNERS,
        ),
    ] = None,
    robots: Annotated[
        list[int] | None,
        typer.Option(
            "--robots",
            help="Number of robots; may be repeated. Default: the published ones; of teams: 1, 2, 4.",
            rich_help_panel=PLANNERS,
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials",
            help="Instances of each size (default: 10) or task (roco; default: as in the paper).",
            rich_help_panel=PLANNERS,
            min=1,
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            help="Model of Inspect, gateway/AGENT, or reference-speakers (default). Of tokens: whose tokens to count. "
            "Of architectures: provider/model as for the gateway, or scripted (default).",
            rich_help_panel=PLANNERS,
        ),
    ] = None,
    history: Annotated[
        list[str] | None,
        typer.Option(
            "--history",
            help="What prompts contain of the past: none, pairs (default) or all; for roco none or all (default).",
            rich_help_panel=PLANNERS,
        ),
    ] = None,
    p_fault: Annotated[
        list[float] | None,
        typer.Option(
            "--p-fault",
            help="Fault rate of the reference speakers, or the scripted model; may be repeated.",
            rich_help_panel=PLANNERS,
        ),
    ] = None,
    shard: Annotated[
        str | None, typer.Option("--shard", help="Run one of n parts, such as 2/8.", rich_help_panel=PLANNERS)
    ] = None,
    budget_usd: Annotated[
        float | None,
        typer.Option(
            "--budget-usd", help="Stop before the calls of models cost more.", rich_help_panel=PLANNERS, min=0
        ),
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(
            "--price", help="IN,OUT in USD per million tokens, where it is not known.", rich_help_panel=PLANNERS
        ),
    ] = None,
    token_limit: Annotated[
        int | None, typer.Option("--token-limit", help="Most tokens of one trial.", rich_help_panel=PLANNERS, min=1)
    ] = None,
    time_limit: Annotated[
        int | None, typer.Option("--time-limit", help="Most seconds of one trial.", rich_help_panel=PLANNERS, min=1)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder of logs, tables and charts; of home with --vary. Default: runs/ and the suite's name.",
            rich_help_panel=PLANNERS,
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay",
            help="Draw trials of this folder; --framework, --suite, --robots, --seed, --model choose them.",
            rich_help_panel=PLANNERS,
        ),
    ] = None,
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            "--merge", help="Put the logs below this folder together; may be repeated.", rich_help_panel=PLANNERS
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--tasks",
            help="Tasks, separated by commas, such as put-block,close-jar (default: all); of roco also parts, such as "
            "text (default: rocobench); of emos families, such as mobility,height.",
            rich_help_panel=MALMM,
        ),
    ] = None,
    observation: Annotated[
        str | None,
        typer.Option(
            "--observation",
            help="What a team sees: state (ground truth, default) or vision (both cameras).",
            rich_help_panel=MALMM,
        ),
    ] = None,
    flame: Annotated[
        str | None,
        typer.Option("--flame", help="Of time: process, such as pick, of which a flame graph is taken with py-spy."),
    ] = None,
    feedback: Annotated[
        list[str] | None,
        typer.Option(
            "--feedback", help="on (default): a team sees what it does; off: it plans once.", rich_help_panel=MALMM
        ),
    ] = None,
    temperature: Annotated[
        list[float] | None,
        typer.Option(
            "--temperature",
            help="Of language models in roco's grids; may be repeated. Default: 0.",
            rich_help_panel=ROCO,
        ),
    ] = None,
    person: Annotated[
        list[str] | None,
        typer.Option(
            "--person",
            help="Of roco's blocks: correcting, imperfect (both by rules), or typed, by you.",
            rich_help_panel=ROCO,
        ),
    ] = None,
    wording: Annotated[
        list[str] | None,
        typer.Option("--wording", help="Of roco's questions: original, reworded; default: both.", rich_help_panel=ROCO),
    ] = None,
) -> None:
    """Run a benchmark suite and print a table.

    Every rate is printed with its n and 95 % interval. With one of its own options, planners runs an experiment on
    Inspect, which needs scripts/inspect-env and resumes what was begun in the same folder; so does malmm with --model.
    """
    options = {
        "framework": framework, "suite": worlds, "robots": robots, "trials": trials, "model": model,
        "history": history, "p_fault": p_fault, "shard": shard, "budget_usd": budget_usd, "price": price,
        "token_limit": token_limit, "time_limit": time_limit, "out": out, "merge": merge,
        "replay": replay, "tasks": tasks, "observation": observation, "feedback": feedback, "person": person,
        "temperature": temperature, "wording": wording,
        "flame": flame, "tier": tier, "kind": kind, "vary": vary,
    }  # fmt: skip
    if json_path is not None and not json_path.resolve().parent.is_dir():
        raise UsageError(f"--json {json_path}: the folder {json_path.resolve().parent} does not exist")
    # Nobody needs the benchmarks to run a robot, so their package is a plug-in.
    found = entry_points(group="quartet.cli", name="bench")
    if not found:
        raise UsageError("the benchmarks are not installed; run `make setup` or install the package quartet-benchmarks")
    measure = next(iter(found)).load()
    try:
        measure(
            suite,
            episodes=episodes,
            seeds=seed or (),
            short=short,
            json_path=json_path,
            sensors=sensors,
            catalogue=catalogue,
            worlds=world or (),
            kinds=robot or (),
            options={n: v for n, v in options.items() if v is not None and v != []},
        )
    except LookupError as error:
        raise UsageError(str(error.args[0])) from error
    except StackError as error:
        raise CannotStartError(str(error)) from error
