"""Tools of our servers under the names, arguments and results that another client expects.

A compatibility file gives the rules; the mapping files of `upstream` do the same in the other direction.
"""

from quartet_tool_server.compat._adapter import Adapter
from quartet_tool_server.compat._file import CompatFile, load_compat

__all__ = ["Adapter", "CompatFile", "load_compat"]
