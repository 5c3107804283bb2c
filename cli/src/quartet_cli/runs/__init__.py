"""The folder that every task leaves behind."""

from quartet_cli.runs._folder import RunFolder
from quartet_cli.runs._metrics import run_metrics
from quartet_cli.runs._sheet import Step, contact_sheet

__all__ = ["RunFolder", "Step", "contact_sheet", "run_metrics"]
