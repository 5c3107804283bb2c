"""Quartet on one machine: start, watch and end all of its processes."""

from quartet_cli.secrets.layout import SERVERS
from quartet_cli.stack._stack import Stack
from quartet_cli.stack.errors import FolderInUse, NotInstalled, PortTaken, ProcessDied, StackError, StartTimeout
from quartet_cli.stack.options import AGENTS, StackOptions

__all__ = [
    "AGENTS",
    "SERVERS",
    "FolderInUse",
    "NotInstalled",
    "PortTaken",
    "ProcessDied",
    "Stack",
    "StackError",
    "StackOptions",
    "StartTimeout",
]
