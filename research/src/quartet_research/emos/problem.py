"""What a team is given of an instance: task, scene and resumes as text."""

from quartet_research.emos.house import resume_of_body
from quartet_research.emos.instance import Instance
from quartet_research.emos.scene import scene_text, task_text
from quartet_site import capabilities
from quartet_teams.emos import Problem, Profile


def problem_of(instance: Instance) -> Problem:
    """Return what a team is given. Raises SimulationError if a body is not installed."""
    return Problem(
        task_text(instance),
        scene_text(instance),
        [_profile(name, body) for name, body in instance.robots.items()],
    )


def _profile(name: str, body: str) -> Profile:
    resume = resume_of_body(body)
    return Profile(
        name,
        resume=capabilities(resume, numbers=True),
        summary=capabilities(resume, numbers=False),
        role=resume.body.role,
    )
