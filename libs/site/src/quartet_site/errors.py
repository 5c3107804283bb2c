"""Errors of the robot and site files.

SiteError
└── FileProblem   one file is wrong; the message lists every fault with file, line, field and valid values
"""


class SiteError(Exception):
    """Base of everything this package raises."""


class FileProblem(SiteError):
    """A robot or site file that cannot be used."""
