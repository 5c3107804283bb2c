"""The robots of one deployment, and the files of each."""

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from quartet_site._abilities import Abilities
from quartet_site._load import load_policy, load_robot, load_site
from quartet_site._robot import RobotFile
from quartet_site.errors import SiteFileError
from quartet_site.policy import PolicyFile, ProgramRule
from quartet_site.resume import Resume
from quartet_site.site import SiteFile

log = logging.getLogger(__name__)
NUMBER = re.compile(r"_?\d+$")
"""At the end of the name of a robot whose kind is there several times."""


class RobotFiles(BaseModel):
    """Files of one robot: a value of QUARTET_ROBOTS, which is JSON from robot name to this."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    robot_file: Path
    site_file: Path
    policy_file: Path | None = None
    """None means the policy.yaml beside the site file, if there is one."""
    resume_file: Path | None = None
    """None means the resume.json next to the robot file, if it exists."""
    bridge_url: Annotated[str, Field(pattern=r"^wss?://")] | None = None
    """Overrides bridge.url of the robot file."""


@dataclass(frozen=True)
class RobotSetup:
    """A robot and the site it works in, as their files describe them."""

    robot: RobotFile
    site: SiteFile
    approval_wait_s: float = 0.0
    """How long a call or a program may wait for a person's approval; 0 where no policy.yaml asks for one [s]."""
    programs: ProgramRule = "auto"
    """Whether programs of models run."""
    resume: Resume | None = None

    @property
    def abilities(self) -> Abilities:
        """What the robot can do there."""
        return Abilities(self.robot, self.resume)


def load_resume(path: Path) -> Resume:
    """Return the resume at `path`, as `quartet resume ROBOT --format json` prints it. Raises SiteFileError."""
    try:
        return Resume.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        faults = "; ".join(str(error).splitlines()[:3])
        raise SiteFileError(
            f"{path} is not the resume of a robot: {faults}. Write it with: quartet resume {path.parent} --format json"
        ) from error


def load_robots(
    names: Iterable[str], files: Mapping[str, RobotFiles], robot_file: Path | None, site_file: Path | None
) -> dict[str, RobotSetup]:
    """Return the files of every robot of `names`: its own of `files`, else the pair for all. Raises SiteFileError."""
    sites: dict[Path, SiteFile] = {}
    known: dict[str, RobotSetup] = {}
    for name in names:
        entry = files.get(name)
        if entry is None and (robot_file is None or site_file is None):
            raise SiteFileError(
                f"no files are known for robot '{name}'; QUARTET_ROBOTS has {', '.join(sorted(files)) or 'none'}. Add "
                "it there, or set QUARTET_ROBOT_FILE and QUARTET_SITE_FILE for all robots"
            )
        path = entry.robot_file if entry is not None else robot_file
        where = entry.site_file if entry is not None else site_file
        assert path is not None
        assert where is not None
        robot = load_robot(path)
        if entry is not None and robot.name != name:
            raise SiteFileError(f"QUARTET_ROBOTS: '{name}' has the robot file of '{robot.name}' ({path}); correct one")
        # Robots of one place share what is known of it.
        if where not in sites:
            sites[where] = load_site(where)
        policy_file = _find_file(name, entry, "policy_file", where.parent / "policy.yaml")
        policy = load_policy(policy_file, sites[where], robot) if policy_file else PolicyFile()
        resume_file = _find_file(name, entry, "resume_file", path.parent / "resume.json")
        resume = load_resume(resume_file) if resume_file else None
        # Of several robots with the same name, each has a number after it.
        if resume is not None and resume.robot_id not in (robot.name, NUMBER.sub("", robot.name)):
            wrong = f"{resume_file} is the resume of '{resume.robot_id}', not of '{robot.name}' ({path})"
            if entry is None or entry.resume_file is None:
                raise SiteFileError(
                    f"{wrong}. Write it with: quartet resume {path.parent} --format json > {resume_file} (a body.yaml "
                    "there needs the same name), or name a resume_file in QUARTET_ROBOTS"
                )
            log.warning("%s; its limits are used because QUARTET_ROBOTS names it", wrong)
        asks = policy.approval or policy.programs == "ask"
        wait_s = policy.approval_wait_s if asks else 0.0
        known[name] = RobotSetup(robot, sites[where], wait_s, policy.programs, resume)
    return known


def _find_file(
    name: str, entry: RobotFiles | None, field: Literal["policy_file", "resume_file"], beside: Path
) -> Path | None:
    """Return the file that an entry of QUARTET_ROBOTS names, else `beside` if it exists.

    Raises SiteFileError if the named file does not exist.
    """
    named: Path | None = getattr(entry, field, None)
    if named is None:
        return beside if beside.is_file() else None
    if not named.is_file():
        raise SiteFileError(
            f"QUARTET_ROBOTS: the {field} of '{name}' is {named}, which is no file; correct the path, or leave "
            f"{field} out to use {beside} if it exists"
        )
    return named
