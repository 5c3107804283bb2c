"""Checks a robot step by step through its rosbridge and says what is wrong and how to fix it."""

from quartet_cli.doctor.diagnose import diagnose
from quartet_cli.doctor.examination import Finding, Report, Verdict

__all__ = ["Finding", "Report", "Verdict", "diagnose"]
