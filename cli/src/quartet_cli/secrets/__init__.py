"""The secrets of a deployment on disk: one folder per process, with what that process may hold."""

from quartet_cli.secrets.check import check
from quartet_cli.secrets.files import SecretsError
from quartet_cli.secrets.folder import SecretsFolder
from quartet_cli.secrets.layout import SECRETS

__all__ = ["SECRETS", "SecretsError", "SecretsFolder", "check"]
