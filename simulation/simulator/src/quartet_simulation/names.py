"""Names of parts in a MuJoCo model, by which everybody finds them."""

OBJECT_GROUP = 1
"""Geom group of movable objects."""


def prefix_of(number: int) -> str:
    """What the names of a robot's parts begin with in the model; those of the first are plain."""
    return "" if number == 0 else f"robot{number + 1}/"


def number_of(name: str) -> int:
    """Which robot a part belongs to, by its name."""
    head, slash, _ = name.partition("/")
    return int(head.removeprefix("robot")) - 1 if slash and head.startswith("robot") else 0


def person_name(name: str) -> str:
    """Name of the MuJoCo body of a person, with which those of the parts begin."""
    return f"person:{name}"


def is_person(body: str) -> bool:
    """Return whether a MuJoCo body is a person's."""
    return body.startswith("person:")


def leaf_name(door: str) -> str:
    """Name of the MuJoCo body of a door's leaf that can be closed, and of its hinge."""
    return f"leaf:{door}"


def body_name(name: str) -> str:
    """Name of the MuJoCo body of an object."""
    return f"object:{name}"
