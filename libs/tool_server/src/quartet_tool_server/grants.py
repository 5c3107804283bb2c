"""Verification of the signed grant that every request carries."""

import logging
import time
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, overload

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from fastmcp.server.auth import AccessToken, TokenVerifier
from fastmcp.server.dependencies import get_access_token
from pydantic import ValidationError

from quartet_contracts import ALGORITHM, ISSUER, RESET_SCOPE, STOP_ISSUER, STOP_SCOPE, GrantClaims, audience
from quartet_process import ProcessSettings, Secret, SecretError, SecretValue
from quartet_tool_server.errors import GrantOutOfTimeError, InvalidGrantError, KeyFileError

log = logging.getLogger(__name__)

current_grant: ContextVar[GrantClaims | None] = ContextVar("current_grant", default=None)
"""Grant of the call that is being served."""

LEEWAY_S = 2
"""Clock difference between orchestrator and robot that an expiry tolerates."""


class PublicKeys(Sequence[Ed25519PublicKey]):
    """The keys in a secret, read again when it changes, so that who signs can rotate them. Raises KeyFileError."""

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._read = secret.values
        self._keys = _parse(self._read, secret.where)

    def __len__(self) -> int:
        return len(self._now())

    @overload
    def __getitem__(self, index: int) -> Ed25519PublicKey: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Ed25519PublicKey]: ...
    def __getitem__(self, index: int | slice) -> Ed25519PublicKey | Sequence[Ed25519PublicKey]:
        return self._now()[index]

    def _now(self) -> list[Ed25519PublicKey]:
        values = self._secret.values
        if values is not self._read:
            self._read = values
            try:
                self._keys = _parse(values, self._secret.where)
            except KeyFileError as problem:
                log.error("%s; the keys from before stay in use", problem)
        return self._keys


def read_keys(settings: ProcessSettings, name: str = "grant_public_key") -> PublicKeys:
    """The Ed25519 public keys that are the secret `name`; several, one after the other, while they are rotated.

    Raises KeyFileError.
    """
    try:
        return PublicKeys(
            settings.needed_secret(
                name, "it is the Ed25519 public key of who signs, with its line -----BEGIN PUBLIC KEY-----"
            )
        )
    except SecretError as problem:
        raise KeyFileError(str(problem)) from problem


def _parse(values: Sequence[SecretValue], where: str) -> list[Ed25519PublicKey]:
    keys: list[Ed25519PublicKey] = []
    for value in values:
        if "-----BEGIN PUBLIC KEY-----" not in value.text:
            raise KeyFileError(f"{where} holds no '-----BEGIN PUBLIC KEY-----' block; valid: Ed25519 public keys (PEM)")
        try:
            key = load_pem_public_key(value.text.encode())
        except ValueError as error:
            raise KeyFileError(f"{where}: not a PEM public key: {error}") from error
        if not isinstance(key, Ed25519PublicKey):
            raise KeyFileError(f"{where}: {type(key).__name__} is not an Ed25519 public key")
        keys.append(key)
    return keys


def read_token(token: str, key: Ed25519PublicKey, audience: str, issuer: str = ISSUER) -> dict[str, Any]:
    """The claims of a token that `key` signed for `audience`. Raises jwt.InvalidTokenError."""
    return jwt.decode(
        token,
        key,
        algorithms=[ALGORITHM],
        audience=audience,
        issuer=issuer,
        leeway=LEEWAY_S,
        options={"require": ["exp", "iat", "aud", "iss", "sub", "jti"]},
    )


class GrantVerifier(TokenVerifier):
    """Accepts tokens that one of `keys` signed for `robot`; anything else is HTTP 401.

    `stop_keys` are those of stop services: they sign stops and resets and nothing else.
    """

    def __init__(
        self, robot: str, keys: Sequence[Ed25519PublicKey], stop_keys: Sequence[Ed25519PublicKey] = ()
    ) -> None:
        super().__init__()
        self.robot, self.keys, self._stop_keys = robot, keys, stop_keys

    def check(self, token: str) -> GrantClaims:
        """The claims of a valid token. Raises InvalidGrantError."""
        why = "no key is known"
        for key, issuer in (*((key, ISSUER) for key in self.keys), *((key, STOP_ISSUER) for key in self._stop_keys)):
            try:
                claims = read_token(token, key, audience(self.robot), issuer)
                return _within_rights(GrantClaims.model_validate(claims), issuer)
            except jwt.InvalidSignatureError as error:
                why = str(error)
            except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError) as error:
                raise GrantOutOfTimeError(_out_of_time(token)) from error
            except (jwt.InvalidTokenError, ValidationError) as error:
                raise InvalidGrantError(f"{type(error).__name__}: {error}") from error
        raise InvalidGrantError(f"InvalidSignatureError: {why}")

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access of a valid token, None for any other."""
        try:
            claims = self.check(token)
        except InvalidGrantError as error:
            # The client is only told 401.
            log.warning("a call for robot '%s' is refused: %s", self.robot, error)
            return None
        return AccessToken(
            token=token,
            client_id=claims.sub,
            scopes=claims.tools,
            expires_at=claims.exp,
            claims=claims.model_dump(),
        )


def _out_of_time(token: str) -> str:
    """Say by how much a signed token is too old or too new, since a clock that is wrong looks the same."""
    claims = jwt.decode(token, options={"verify_signature": False})
    now = time.time()
    ended, begins = now - float(claims["exp"]), float(claims["iat"]) - now
    what = f"expired {ended:.0f} s ago" if ended > 0 else f"is valid only in {begins:.0f} s"
    return (
        f"the grant of '{claims['jti']}' {what} by the clock of this machine; its signature is right. If it is new, "
        "the clocks of the orchestrator and of this server differ: synchronise them (chrony or another NTP client)"
    )


def _within_rights(claims: GrantClaims, issuer: str) -> GrantClaims:
    """Raises InvalidGrantError when a stop service grants more than stops and resets."""
    beyond = sorted(set(claims.tools) - {STOP_SCOPE, RESET_SCOPE})
    if issuer == STOP_ISSUER and beyond:
        raise InvalidGrantError(f"a stop service cannot grant {', '.join(beyond)}")
    return claims


def caller() -> GrantClaims | None:
    """Claims of the request that is being served, None where it carries no grant."""
    token = get_access_token()
    if token is None or not token.claims:
        return None
    claims = GrantClaims.model_validate(token.claims)
    return claims if claims.exp + LEEWAY_S > time.time() else None
