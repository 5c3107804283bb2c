"""Tokens (JWT) that an Ed25519 key signs, and the public keys that check them."""

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any, overload

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from quartet_process._secrets import Secret, SecretValue
from quartet_process._settings import ProcessSettings
from quartet_process.errors import InvalidTokenError, SecretError, TokenOutOfTimeError

log = logging.getLogger(__name__)

LEEWAY_S = 2
"""Clock difference between who signs and who checks that an expiry tolerates."""


class PublicKeys(Sequence[Ed25519PublicKey]):
    """The keys in a secret, read again when it changes, so that who signs can rotate them. Raises SecretError."""

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
            except SecretError as problem:
                log.error("%s; the keys from before stay in use", problem)
        return self._keys


def read_keys(settings: ProcessSettings, name: str = "grant_public_key") -> PublicKeys:
    """The Ed25519 public keys that are the secret `name`; several, one after the other, while they are rotated.

    Raises SecretError.
    """
    return PublicKeys(
        settings.needed_secret(
            name, "it is the Ed25519 public key of who signs, with its line -----BEGIN PUBLIC KEY-----"
        )
    )


def _parse(values: Sequence[SecretValue], where: str) -> list[Ed25519PublicKey]:
    keys: list[Ed25519PublicKey] = []
    for value in values:
        if "-----BEGIN PUBLIC KEY-----" not in value.text:
            raise SecretError(f"{where} holds no '-----BEGIN PUBLIC KEY-----' block; valid: Ed25519 public keys (PEM)")
        try:
            key = load_pem_public_key(value.text.encode())
        except ValueError as error:
            raise SecretError(f"{where}: not a PEM public key: {error}") from error
        if not isinstance(key, Ed25519PublicKey):
            raise SecretError(f"{where}: {type(key).__name__} is not an Ed25519 public key")
        keys.append(key)
    return keys


def read_token(token: str, keys: Iterable[tuple[Ed25519PublicKey, str]], audience: str | None) -> dict[str, Any]:
    """Return the claims of a token that one of `keys` signed, each given with its issuer.

    `audience` is the one that the token must be for; None: the caller checks the claim `aud`. Raises
    InvalidTokenError, and TokenOutOfTimeError for a right signature whose time is over or has not begun.
    """
    why = "no key is known"
    for key, issuer in keys:
        try:
            return jwt.decode(
                token,
                key,
                algorithms=["EdDSA"],
                audience=audience,
                issuer=issuer,
                leeway=LEEWAY_S,
                options={
                    "require": ["exp", "iat", "aud", "iss", "sub", "jti"],
                    "verify_aud": audience is not None,
                },
            )
        except jwt.InvalidSignatureError as error:
            why = str(error)
        except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError) as error:
            raise TokenOutOfTimeError(_out_of_time(token)) from error
        except jwt.InvalidTokenError as error:
            raise InvalidTokenError(f"{type(error).__name__}: {error}") from error
    raise InvalidTokenError(f"InvalidSignatureError: {why}")


def _out_of_time(token: str) -> str:
    """Say by how much a signed token is too old or too new, since a clock that is wrong looks the same."""
    claims = jwt.decode(token, options={"verify_signature": False})
    now = time.time()
    ended, begins = now - float(claims["exp"]), float(claims["iat"]) - now
    what = f"expired {ended:.0f} s ago" if ended > 0 else f"is valid only in {begins:.0f} s"
    return (
        f"the token '{claims['jti']}' {what} by the clock of this machine; its signature is right. If it is new, "
        "the clocks of the orchestrator and of this server differ: synchronise them (chrony or another NTP client)"
    )
