"""Errors of the procedures."""

from typing import Any


class GaveUpError(Exception):
    """Ends a procedure with a report of failure.

    Attributes:
        code: Error code of the report.
        because: Error code of the tool that ended the work, '' if none did.
        fields: Further fields of the report.
    """

    def __init__(self, code: str, reason: str, because: str = "", **fields: Any) -> None:
        super().__init__(reason)
        self.code = code
        self.because = because
        self.fields = fields

    @property
    def report(self) -> dict[str, Any]:
        """Fields of the report."""
        return {"success": False, "error_code": self.code, "reason": str(self), **self.fields}
