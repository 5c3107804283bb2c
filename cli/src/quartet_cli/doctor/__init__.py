"""Checks a robot step by step through its rosbridge and says what is wrong and how to mend it."""

from quartet_cli.doctor._diagnose import diagnose
from quartet_cli.doctor._findings import Finding, Report, Verdict

__all__ = ["Finding", "Report", "Verdict", "diagnose"]
