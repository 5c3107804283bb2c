"""What every process has: logs, metrics, traces, secrets."""

from quartet_process.exposure import foreign_page, is_loopback, metrics_secret, require_credential
from quartet_process.logs import JsonLines, set_up_logging
from quartet_process.metrics import REGISTRY, Exposition, LabelValues
from quartet_process.redact import (
    RedactingFilter,
    redact,
    redact_all,
    redact_bytes,
    remember,
    remember_environment,
    shown,
)
from quartet_process.secrets import (
    LEAST,
    ProcessSettings,
    Secret,
    SecretProblem,
    Value,
    bearer,
    find_secret,
    missing,
    presented,
)
from quartet_process.work import current_work, work

__all__ = [
    "LEAST",
    "REGISTRY",
    "Exposition",
    "JsonLines",
    "LabelValues",
    "ProcessSettings",
    "RedactingFilter",
    "Secret",
    "SecretProblem",
    "Value",
    "bearer",
    "current_work",
    "find_secret",
    "foreign_page",
    "is_loopback",
    "metrics_secret",
    "missing",
    "presented",
    "redact",
    "redact_all",
    "redact_bytes",
    "remember",
    "remember_environment",
    "require_credential",
    "set_up_logging",
    "shown",
    "work",
]
