"""Errors of the sandbox.

SandboxError
    SandboxUnavailableError   this machine cannot confine a program
FunctionError                 what a function of the caller says to the program; raised there as an exception
"""


class SandboxError(Exception):
    """Something that the sandbox says no to."""


class SandboxUnavailableError(SandboxError):
    """This machine cannot confine a program; the text says what is missing and what to do."""


class FunctionError(Exception):
    """A function of the caller could not do what the program asked; the text is for the program's author."""
