"""The secrets of one deployment: created, rotated and retired, one folder per process."""

import re
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from quartet_bus.access import ADMIN, ORCHESTRATOR, acl_file, digest, digests_in
from quartet_contracts import ROLES_FIELD, Role
from quartet_deployment._secrets.files import blocks, lines, read, write
from quartet_deployment._secrets.layout import SECRETS, USERS_FILE, Item, Pair, Password, Token, all_files
from quartet_deployment.errors import SecretsError

_CALLER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
Reload = Callable[[str], None]
"""Makes Redis read its users again; takes the administrator's password. Raises SecretsError."""


@dataclass(frozen=True)
class SecretUse:
    """Who has one secret; without its values."""

    name: str
    accepted_by: tuple[str, ...]
    presented_by: tuple[str, ...]
    values: int
    """How many values are accepted now."""


class SecretsFolder:
    """The secrets below one folder. Every method raises SecretsError for a file that cannot be used."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, process: str, name: str = "") -> Path:
        """Return the folder of a process, or a file in it."""
        return self.root / process / name

    def text(self, process: str, name: str) -> str:
        """Return the newest value in a file."""
        found = lines(read(self.path(process, name)))
        if not found:
            raise SecretsError(f"{self.path(process, name)} is missing or empty; make it with: quartet secrets init")
        return found[0].split(" ")[0]

    @property
    def users_file(self) -> Path:
        """Redis's ACL file."""
        return self.root / USERS_FILE

    def changes_users(self, name: str) -> bool:
        """Return whether Redis must read its users again after a change of this secret."""
        return any(isinstance(item, Password) for item in SECRETS.get(name, []))

    def uses(self) -> list[SecretUse]:
        """Return who accepts and who presents each secret."""
        self._check_there()
        found: list[SecretUse] = []
        for name, items in SECRETS.items():
            for item in items:
                if isinstance(item, Token):
                    accepts, presents = item.accepts, item.presents
                elif isinstance(item, Pair):
                    accepts, presents = item.public, (item.private,)
                else:
                    accepts, presents = (USERS_FILE,), (item.presents,)
                accepted_by, presented_by = (tuple(path.parts[0] for path in paths) for paths in (accepts, presents))
                found.append(SecretUse(name, accepted_by, presented_by, self.in_use(item)))
        return found

    def init(self) -> list[Path]:
        """Create what is missing, keep what exists, and return the files that were written."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        before = {path: read(self.root / path) for path in all_files()}
        for items in SECRETS.values():
            for item in items:
                if isinstance(item, Token):
                    self._init_token(item)
                elif isinstance(item, Pair):
                    self._init_pair(item)
                elif not read(self.root / item.presents):
                    write(self.root / item.presents, f"{_new_token()}\n")
        self._write_users(self._digests())
        return [path for path, text in before.items() if read(self.root / path) != text]

    def rotate(self, name: str, reload: Reload | None) -> None:
        """Add a new value, which is presented from now on; the old one is still accepted.

        The files of who accepts are written before those of who presents. `reload` is needed for passwords of Redis.
        """
        self._check_there(name)
        passwords: dict[str, str] = {}
        for item in _items(name):
            if isinstance(item, Token):
                value = _new_token()
                for path in item.accepts:
                    self._put(path, [f"{value} {item.owner}".strip(), *lines(read(self.root / path))])
                for path in item.presents:
                    self._put(path, [value])
            elif isinstance(item, Pair):
                private, public = _new_pair()
                for path in item.public:
                    write(self.root / path, public + "".join(blocks(read(self.root / path))))
                write(self.root / item.private, private)
            else:
                passwords[item.role] = _new_token()
        if passwords:
            known = self._digests()
            added = {role: [digest(password), *known.get(role, [])] for role, password in passwords.items()}
            self._change_users({**known, **added}, reload)
            for item in _items(name):
                if isinstance(item, Password):
                    self._put(item.presents, [passwords[item.role]])

    def retire(self, name: str, reload: Reload | None) -> None:
        """Accept only the newest value; tokens that a person added for other callers stay."""
        self._check_there(name)
        for item in _items(name):
            if isinstance(item, Token):
                for path in item.accepts:
                    self._put(path, _without_old(lines(read(self.root / path)), item.owner))
            elif isinstance(item, Pair):
                public = public_of(read(self.root / item.private), self.root / item.private)
                for path in item.public:
                    write(self.root / path, public)
        roles = {item.role for item in _items(name) if isinstance(item, Password)}
        if roles:
            self._change_users(self._digests(newest_only_of=roles), reload)

    def add_caller(self, name: str, roles: Collection[Role]) -> str:
        """Let a person or a program call the API under `name` with these roles, and return the new token."""
        self._check_there("api_token")
        path = Path(ORCHESTRATOR, "api_token")
        known = lines(read(self.root / path))
        if not _CALLER.fullmatch(name):
            raise SecretsError(f"'{name}' is not valid; valid: up to 64 letters, digits, '.', '_' and '-'")
        if any(line.split()[1:2] == [name] for line in known):
            raise SecretsError(f"'{name}' has a token in {self.root / path}; remove its line, or choose another name")
        value = _new_token()
        # At the end: the first value of an owner is the newest, which is presented.
        self._put(path, [*known, f"{value} {name} {ROLES_FIELD}{','.join(roles)}"])
        return value

    def _check_there(self, name: str | None = None) -> None:
        """Check that the folder, and in it the secret `name`, are there: what is not there is made by `init` alone."""
        init = f"make it with: quartet secrets init {self.root}"
        if not self.root.exists():
            raise SecretsError(f"there is no folder {self.root}; {init}")
        if not self.root.is_dir():
            raise SecretsError(f"{self.root} is a file; name the folder of a deployment")
        if name is not None and not any(self.in_use(item) for item in _items(name)):
            raise SecretsError(f"{self.root} has no {name}; name the folder of a deployment, or {init}")

    def in_use(self, item: Item) -> int:
        """Return how many values of a secret are accepted now."""
        if isinstance(item, Token):
            return max(len(lines(read(self.root / path))) for path in item.accepts)
        if isinstance(item, Pair):
            return max(len(blocks(read(self.root / path))) for path in item.public)
        return len(digests_in(read(self.root / USERS_FILE)).get(item.role, []))

    def _init_token(self, item: Token) -> None:
        held = [line for path in (*item.presents, *item.accepts) for line in lines(read(self.root / path))]
        value = held[0].split(" ")[0] if held else _new_token()
        for path in item.accepts:
            if not lines(read(self.root / path)):
                self._put(path, [f"{value} {item.owner}".strip()])
        for path in item.presents:
            if not lines(read(self.root / path)):
                self._put(path, [value])

    def _init_pair(self, item: Pair) -> None:
        private = read(self.root / item.private)
        if not private:
            private, _ = _new_pair()
            write(self.root / item.private, private)
        public = public_of(private, self.root / item.private)
        for path in item.public:
            if not blocks(read(self.root / path)):
                write(self.root / path, public)

    def _digests(self, *, newest_only_of: Collection[str] = ()) -> dict[str, list[str]]:
        """Return the digests of each role's passwords, that of the presented one first."""
        known = digests_in(read(self.root / USERS_FILE))
        found: dict[str, list[str]] = {}
        for item in _passwords():
            newest = digest(self.text(*item.presents.parts))
            before = [] if item.role in newest_only_of else known.get(item.role, [])
            found[item.role] = [newest, *(one for one in before if one != newest)]
        return found

    def _change_users(self, digests: dict[str, list[str]], reload: Reload | None) -> None:
        if reload is None:
            raise SecretsError(
                "Redis must read its users again before a new password is used: name it with --redis-url, or say "
                "--offline when it does not run"
            )
        self._write_users(digests)
        reload(self.text(*ADMIN_FILE))

    def _write_users(self, digests: dict[str, list[str]]) -> None:
        if read(self.root / USERS_FILE) != (text := acl_file(digests)):
            write(self.root / USERS_FILE, text)

    def _put(self, path: Path, values: list[str]) -> None:
        write(self.root / path, "".join(f"{value}\n" for value in values))


def _passwords() -> list[Password]:
    return [item for items in SECRETS.values() for item in items if isinstance(item, Password)]


ADMIN_FILE = next(item.presents for item in _passwords() if item.role == ADMIN).parts


def _items(name: str) -> list[Item]:
    try:
        return SECRETS[name]
    except KeyError:
        raise SecretsError(f"there is no secret '{name}'; valid: {', '.join(SECRETS)}") from None


def _without_old(values: list[str], owner: str) -> list[str]:
    """Return the newest value of `owner` and all values of others."""
    # A repeated value is one value: its second line must not remove the first.
    values = list(dict.fromkeys(values))
    owned = [value for value in values if value.partition(" ")[2].strip() == owner]
    return [value for value in values if value not in owned[1:]]


def _new_token() -> str:
    return secrets.token_urlsafe(32)


def _new_pair() -> tuple[str, str]:
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return private, _public_pem(key)


def public_of(private: str, where: Path) -> str:
    """Return the public part of a private key, both PEM. Raises SecretsError naming the file `where`."""
    try:
        key = load_pem_private_key(private.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise SecretsError(f"{where} is not an unencrypted PEM private key: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SecretsError(f"{where} is a {type(key).__name__}; an Ed25519 key is needed")
    return _public_pem(key)


def _public_pem(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
