"""`quartet doctor`: check a robot, or the configured models, step by step."""

import asyncio
from json import dumps
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from quartet_cli.doctor import Finding, Report, Verdict, diagnose
from quartet_cli.doctor.clocks import check_clocks
from quartet_cli.errors import ExitStatus, UsageError
from quartet_cli.settings import CliSettings, running_stack
from quartet_cli.terminal import open_terminal
from quartet_deployment import check_models
from quartet_process import without_password
from quartet_site import RobotFile, SiteFile, SiteFileError, load_robot, load_site

MARKS = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.WRONG: "bold red", Verdict.SKIPPED: "dim"}


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("doctor")(doctor)


def doctor(
    robot_file: Annotated[
        Path | None,
        typer.Option(
            "--robot-file",
            envvar="QUARTET_ROBOT_FILE",
            help="robot.yaml of the robot; default: that of the running `quartet up`.",
        ),
    ] = None,
    site_file: Annotated[
        Path | None,
        typer.Option(
            "--site-file",
            envvar="QUARTET_SITE_FILE",
            help="site.yaml of the robot; default: the one beside robot.yaml.",
        ),
    ] = None,
    bridge_url: Annotated[
        str | None,
        typer.Option(
            "--bridge-url", envvar="QUARTET_BRIDGE_URL", help="Address of rosbridge; default: bridge.url of robot.yaml."
        ),
    ] = None,
    patience_s: Annotated[
        float, typer.Option("--patience", min=0.1, max=60.0, help="Seconds to wait for each answer of the robot.")
    ] = 3.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object with all findings.")] = False,
    models: Annotated[
        bool,
        typer.Option("--models", help="Check the configured models instead: a few short calls each, usually cents."),
    ] = False,
    hand_eye: Annotated[
        bool,
        typer.Option(
            "--hand-eye",
            help="Measure the mountings of both cameras with a printed chessboard; the arm moves, once you agree.",
        ),
    ] = False,
    squares: Annotated[
        str, typer.Option("--squares", metavar="CxR", help="With --hand-eye: squares of the board along both sides.")
    ] = "10x7",
    square_mm: Annotated[
        float, typer.Option("--square-mm", min=5, max=200, help="With --hand-eye: side of a square, as measured.")
    ] = 27.0,
    write: Annotated[
        bool,
        typer.Option("--write", help="With --hand-eye: put the corrections into robot.yaml, after showing the change."),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --hand-eye: move and write without asking; see docs/first-pick.md.")
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record", metavar="DIR", help="With --models: keep requests and answers there, without secrets."
        ),
    ] = None,
) -> None:
    """Check a robot and the way to it.

    Checked are bridge, topics, frames, Nav2, MoveIt, cameras, gripper and guard. Nothing moves, but for --hand-eye.
    With --models, check the models instead.
    """
    if models:
        raise typer.Exit(_check_models(record, json))
    if record is not None:
        raise UsageError("--record keeps what models are asked; give it with --models")
    if (write or yes) and not hand_eye:
        raise UsageError("--write and --yes are about the cameras' mountings; give them with --hand-eye")
    path, robot, site = _load(robot_file, site_file, bridge_url)
    console = open_terminal(soft_wrap=True)
    if hand_eye:
        raise typer.Exit(
            _check_hand_eye(path, robot, squares, square_mm, patience_s, console, write=write, yes=yes, json=json)
        )
    token = CliSettings().token_for_bridge()
    if not json:
        console.print(f"{robot.name} at {without_password(robot.bridge.url)}")
    report = asyncio.run(
        diagnose(
            robot, site, token=token, patience_s=patience_s, on_finding=None if json else lambda f: _print(console, f)
        )
    )
    clocks = check_clocks(_processes(robot.name))
    if clocks is not None:
        report = report.model_copy(update={"findings": [*report.findings, clocks]})
        if not json:
            _print(console, clocks)
    if json:
        print(report.model_dump_json(indent=1))
    else:
        console.print(summary(report))
    raise typer.Exit(ExitStatus.DONE if report.healthy else ExitStatus.FAILED)


def _processes(robot: str) -> dict[str, str]:
    """Return the address of the orchestrator, and of each server of `robot`, as far as they are known here."""
    settings = CliSettings()
    url = settings.url or running_stack().get("url", "")
    return {**({"orchestrator": url} if url else {}), **settings.servers_of(robot)}


def _check_hand_eye(
    path: Path,
    robot: RobotFile,
    squares: str,
    square_mm: float,
    patience_s: float,
    console: Console,
    *,
    write: bool,
    yes: bool,
    json: bool,
) -> ExitStatus:
    """Measure the cameras' mountings and print what was found. Raises CliError."""
    # scipy, which no other command needs, takes long to import.
    from quartet_cli.commands.hand_eye import check_hand_eye, offer_corrections, parse_board

    board = parse_board(squares, square_mm)
    if json and not yes:
        raise UsageError("--json leaves no place for questions; give --yes as well")
    measured, report = check_hand_eye(robot, board, yes=yes, console=None if json else console, patience_s=patience_s)
    if json:
        print(report.model_dump_json(indent=1))
    else:
        for finding in report.findings:
            _print(console, finding)
    if write:
        shown = open_terminal(soft_wrap=True, stderr=True) if json else console
        offer_corrections(path, robot, measured, yes=yes, console=shown)
    return ExitStatus.FAILED if report.wrong else ExitStatus.DONE


def _check_models(record: Path | None, json: bool) -> ExitStatus:
    """Print what works of each configured model. Raises OptionError when none can be asked."""
    console = open_terminal(soft_wrap=True)
    findings: list[Finding] = []
    files: list[str] = []
    used: dict[str, float] = {}
    for line in check_models(record):
        if "finding" in line:
            findings.append(Finding.model_validate(line["finding"]))
            if not json:
                _print(console, findings[-1])
        elif "recorded" in line:
            files.append(line["recorded"])
        else:
            used = line["used"]
    healthy = all(finding.verdict in (Verdict.OK, Verdict.WARNING) for finding in findings)
    if json:
        report = {"findings": [finding.model_dump() for finding in findings], "recorded": files, **used}
        print(dumps(report, indent=1))
    else:
        for file in files:
            console.print(f"recorded: {file}")
        cost = f"{used['cost_usd']:.4f} USD (0 for models without a known price)" if used["tokens"] else "nothing"
        end = "the models are ready" if healthy else "fix the first one first"
        console.print(f"{used['tokens']:.0f} tokens, {cost}: {end}")
    return ExitStatus.DONE if healthy else ExitStatus.FAILED


def _load(
    robot_file: Path | None, site_file: Path | None, bridge_url: str | None
) -> tuple[Path, RobotFile, SiteFile | None]:
    running = running_stack()
    if robot_file is None and "site_dir" in running:
        robot_file = Path(running["site_dir"]) / "robot.yaml"
        bridge_url = bridge_url or running["bridge_url"]
    if robot_file is None:
        raise UsageError(
            "--robot-file is needed, because no `quartet up` runs here; for a robot of your own start from a copy of "
            "deploy/sites/template/robot.yaml"
        )
    if site_file is None and (robot_file.parent / "site.yaml").is_file():
        site_file = robot_file.parent / "site.yaml"
    try:
        robot = load_robot(robot_file)
        if bridge_url:
            fields = robot.model_dump()
            fields["bridge"]["url"] = bridge_url
            robot = RobotFile.model_validate(fields)
        return robot_file, robot, None if site_file is None else load_site(site_file)
    except SiteFileError as error:
        raise UsageError(str(error)) from error
    except ValueError as error:
        shown = without_password(bridge_url or "")
        raise UsageError(f"--bridge-url {shown} is not valid; valid: ws://HOST:PORT or wss://HOST:PORT") from error


def _print(console: Console, finding: Finding) -> None:
    took = "" if finding.latency_ms is None else f" ({finding.latency_ms:.1f} ms)"
    mark = Text(f"{finding.verdict.value:8}", style=MARKS[finding.verdict])
    console.print(mark + Text(f"{finding.step:8}{finding.what}{took}", style=""))
    if finding.remedy:
        lead = "" if finding.verdict is Verdict.SKIPPED else "to fix it: "
        console.print(Text(f"{'':16}{lead}{finding.remedy}", style=""))


def summary(report: Report) -> str:
    """Return one line: how many checks had which end, and what to do next."""
    warnings = sum(finding.verdict is Verdict.WARNING for finding in report.findings)
    count = f"{len(report.findings)} checks, {len(report.wrong)} wrong, {warnings} warnings"
    if report.wrong:
        return f"{count}: fix the first one first"
    skipped = sum(finding.verdict is Verdict.SKIPPED for finding in report.findings)
    return f"{count}, {skipped} not possible: see what they need" if skipped else f"{count}: the robot is ready"
