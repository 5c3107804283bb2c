"""Errors of the robot and site files.

SiteError
└── FileProblem   one file is wrong; the message lists every fault with file, line, field and valid values
"""

from pydantic_core import PydanticCustomError


class SiteError(Exception):
    """Base of everything this package raises."""


class FileProblem(SiteError):
    """A robot or site file that cannot be used."""


def misfit(text: str, *at: str | int) -> PydanticCustomError:
    """What a validator raises for a fault that sits deeper in its section: at field or index `at`."""
    return PydanticCustomError("misfit", "{text}", {"text": text, "at": list(at)})
