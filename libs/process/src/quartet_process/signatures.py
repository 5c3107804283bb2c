"""Tokens (JWT) that an Ed25519 key signs, and the public keys that check them."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from quartet_process._clocks import boot_time
from quartet_process._secrets import Secret, SecretValue
from quartet_process._settings import ProcessSettings
from quartet_process.errors import InvalidTokenError, SecretError, TokenOutOfTimeError

log = logging.getLogger(__name__)

LEEWAY_S = 2
"""Clock difference between who signs and who checks that an expiry tolerates."""
MOST_KEPT = 256
"""Tokens that a reader remembers."""


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


def read_token(
    token: str, keys: Iterable[tuple[Ed25519PublicKey, str]], audience: str | None, *, timed: bool = True
) -> dict[str, Any]:
    """Return the claims of a token that one of `keys` signed, each given with its issuer.

    `audience` is the one that the token must be for; None: the caller checks the claim `aud`. `timed`: its time is
    compared with this machine's clock; without, the caller bounds it by what it has counted itself. Raises
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
                    "verify_exp": timed,
                    "verify_iat": timed,
                },
            )
        except jwt.InvalidSignatureError as error:
            why = str(error)
        except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError) as error:
            raise TokenOutOfTimeError(_out_of_time(token)) from error
        except jwt.InvalidTokenError as error:
            raise InvalidTokenError(f"{type(error).__name__}: {error}") from error
    raise InvalidTokenError(f"InvalidSignatureError: {why}")


@dataclass(frozen=True)
class CheckedToken:
    """A token whose signature and times were found valid."""

    claims: dict[str, Any]
    until: float
    """Its end, as boot_time() counts [s]."""

    @property
    def over(self) -> bool:
        """Whether its time is over."""
        return boot_time() >= self.until


class TokenReader:
    """Reads the tokens that callers present again and again, and remembers the last MOST_KEPT of them.

    A signature is checked at the first sight of a token, and its time by the wall clock. From then on its end is told
    by boot_time(): a wall clock that is set, forward or back, neither voids the token of work that goes on nor
    lengthens its life, and a suspend of the machine does not lengthen it.
    """

    def __init__(self, issuers: Callable[[], Sequence[tuple[Ed25519PublicKey, str]]], audience: str | None) -> None:
        """`issuers` and `audience` as for read_token; with other keys every token is checked anew."""
        self._issuers, self._audience = issuers, audience
        self._known: dict[str, CheckedToken] = {}
        self._checked_with: Sequence[tuple[Ed25519PublicKey, str]] = ()

    def read(self, token: str) -> CheckedToken:
        """Return a valid token. Raises InvalidTokenError and TokenOutOfTimeError."""
        issuers = self._issuers()
        if issuers != self._checked_with:
            self._known.clear()
            self._checked_with = issuers
        known = self._known.get(token)
        if known is None:
            claims = read_token(token, issuers, self._audience)
            known = CheckedToken(claims, boot_time() + float(claims["exp"]) + LEEWAY_S - time.time())
            while len(self._known) >= MOST_KEPT:
                del self._known[next(iter(self._known))]
            self._known[token] = known
        if known.over:
            ago_s = boot_time() - known.until + LEEWAY_S
            raise TokenOutOfTimeError(f"the token '{known.claims['jti']}' expired {ago_s:.0f} s ago")
        return known


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
