"""What every process has: settings, secrets, logs, metrics, traces, and a life from its start to an orderly end.

`quartet_process.serving` and `quartet_process.health` hold the HTTP side, `quartet_process.signatures` checks signed
tokens (extra `signatures`); they are imported by name, so that a process without a use for them does not pay for it.
"""

# ruff: noqa: E402
from quartet_process.packages import defer_package

# The names of all characters, half a megabyte, for web pages: prometheus_client and starlette import them, unused here.
defer_package("html")

from quartet_process._access import cross_site_reason, is_loopback, metrics_secret, require_credential
from quartet_process._background import BACKGROUND, BackgroundTasks
from quartet_process._clocks import boot_time, clock_skew
from quartet_process._correlation import correlation_ids, current_ids
from quartet_process._logs import JsonFormatter, LogFormat, set_up_logging
from quartet_process._patience import AnswerSeconds, PatientSettings, scaled_times
from quartet_process._running import run_process, stop_on_signals, unless_stopped, write_ready_file
from quartet_process._secrets import (
    MIN_TOKEN_LENGTH,
    Secret,
    SecretValue,
    bearer_token,
    find_secret,
    missing_secret,
    token_source,
)
from quartet_process._settings import HttpSettings, ProcessSettings, load_settings
from quartet_process.errors import (
    InvalidTokenError,
    ListenError,
    ProcessError,
    SecretError,
    ServingError,
    SettingsError,
    TokenOutOfTimeError,
)
from quartet_process.metrics import REGISTRY, Exposition, LabelValues
from quartet_process.redact import (
    RedactingFilter,
    displayed_value,
    redact,
    redact_all,
    redact_bytes,
    register_environment_secrets,
    register_secret,
    without_password,
)

__all__ = [
    "BACKGROUND",
    "MIN_TOKEN_LENGTH",
    "REGISTRY",
    "AnswerSeconds",
    "BackgroundTasks",
    "Exposition",
    "HttpSettings",
    "InvalidTokenError",
    "JsonFormatter",
    "LabelValues",
    "ListenError",
    "LogFormat",
    "PatientSettings",
    "ProcessError",
    "ProcessSettings",
    "RedactingFilter",
    "Secret",
    "SecretError",
    "SecretValue",
    "ServingError",
    "SettingsError",
    "TokenOutOfTimeError",
    "bearer_token",
    "boot_time",
    "clock_skew",
    "correlation_ids",
    "cross_site_reason",
    "current_ids",
    "displayed_value",
    "find_secret",
    "is_loopback",
    "load_settings",
    "metrics_secret",
    "missing_secret",
    "redact",
    "redact_all",
    "redact_bytes",
    "register_environment_secrets",
    "register_secret",
    "require_credential",
    "run_process",
    "scaled_times",
    "set_up_logging",
    "stop_on_signals",
    "token_source",
    "unless_stopped",
    "without_password",
    "write_ready_file",
]
