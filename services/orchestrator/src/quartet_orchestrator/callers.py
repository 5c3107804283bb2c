"""Who sent the request that is being answered, and what that client may do."""

from contextvars import ContextVar
from dataclasses import dataclass

from quartet_contracts import ROLES_FIELD, Role
from quartet_orchestrator.errors import RequestError


@dataclass(frozen=True)
class Caller:
    """Client of the API, by the owner and the roles of its token."""

    name: str = ""
    """Owner of the token, as the journal names it; '' when the token has no owner."""
    roles: frozenset[Role] = frozenset({Role.ADMIN})

    def may(self, role: Role) -> bool:
        """Return whether the caller has `role`, itself or as an admin."""
        return role in self.roles or Role.ADMIN in self.roles

    def require(self, role: Role, what: str) -> None:
        """Raise RequestError 403 when the caller does not have `role`; `what` it is needed for."""
        if not self.may(role):
            has = ", ".join(sorted(self.roles)) or "none"
            raise RequestError(
                403, "Not allowed", f"{what} needs a token with the role '{role}'; the roles of this token: {has}"
            )


current_caller: ContextVar[Caller] = ContextVar("current_caller", default=Caller())  # noqa: B039  Caller is immutable
"""Caller of the request that is being answered."""


def caller_of(owner: str) -> Caller:
    """Return the caller of a token's line, `owner [roles=role,...]`.

    A line without roles has all of them.
    """
    name, roles = _split(owner)
    return Caller(name) if roles is None else Caller(name, frozenset(map(Role, roles)))


def fault_of_owner(owner: str) -> str:
    """Return what is wrong with the roles of a token's line, "" if nothing.

    Without its content: where name and token are swapped, the owner is the token.
    """
    _, roles = _split(owner)
    if roles is None or (roles and set(roles) <= set(_VALID)):
        return ""
    return f"has no role, or one that does not exist; valid: {', '.join(_VALID)}"


_VALID = tuple(str(role) for role in Role)


def _split(owner: str) -> tuple[str, list[str] | None]:
    """Return name and roles of a token's line; None for a line without roles."""
    words = owner.split()
    fields = [word for word in words if word.startswith(ROLES_FIELD)]
    name = " ".join(word for word in words if word not in fields)
    if not fields:
        return name, None
    return name, [role for field in fields for role in field.removeprefix(ROLES_FIELD).split(",") if role]
