"""The folder of secrets: each process finds what it needs and nothing more, and everything can be rotated."""

import stat
from pathlib import Path

import jwt
import pytest
from typer.testing import CliRunner

from quartet_bus.access import ROLES, acl_file, digest, digests_in
from quartet_cli.main import app
from quartet_contracts import ALGORITHM, Role
from quartet_deployment import SECRETS, SecretsError, SecretsFolder, check_secrets
from quartet_process import Secret

SIGNS = {"orchestrator": "grant", "stop": "stop"}


@pytest.fixture
def folder(tmp_path: Path) -> SecretsFolder:
    made = SecretsFolder(tmp_path / "secrets")
    made.init()
    return made


def nothing(password: str) -> None:
    """Redis does not run."""


def values(folder: SecretsFolder, process: str, name: str) -> list[str]:
    file = folder.path(process, name)
    return [value.text for value in Secret(str(file), file).values]


def test_a_folder_that_is_not_there_is_told_and_not_listed_as_empty(tmp_path: Path) -> None:
    with pytest.raises(SecretsError, match=f"there is no folder {tmp_path / 'none'}; make it with: quartet secrets"):
        SecretsFolder(tmp_path / "none").uses()


@pytest.mark.parametrize("change", ["rotate", "retire"])
@pytest.mark.parametrize("name", sorted(SECRETS))
def test_where_no_deployment_is_nothing_is_rotated_and_nothing_written(tmp_path: Path, change: str, name: str) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(SecretsError, match=f"{tmp_path} has no {name}; name the folder of a deployment"):
        getattr(SecretsFolder(tmp_path), change)(name, nothing)
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]
    with pytest.raises(SecretsError, match="notes is a file; name the folder"):
        SecretsFolder(tmp_path / "notes").uses()


def test_each_process_holds_what_it_needs_and_nothing_more(folder: SecretsFolder) -> None:
    held = {path.name: sorted(file.name for file in path.iterdir()) for path in folder.root.iterdir()}
    agent = ["gateway_key", "metrics_token", "redis_password"]
    server = ["bridge_token", "grant_public_key", "metrics_token", "stop_public_key"]
    assert held == {
        "orchestrator": sorted([*agent, "api_token", "assistant_token", "grant_private_key", "stop_button_token"]),
        "approach": agent,
        "pick": agent,
        "place": agent,
        "executor": ["metrics_token", "redis_password"],
        "nav2": server,
        "moveit": server,
        "ros": server,
        "perception": sorted([*server, "gateway_key"]),
        "gateway": [*(f"gateway_key_{who}" for who in ("approach", "orchestrator", "perception", "pick", "place")),
                    "grant_public_key", "metrics_token"],
        "stop": ["guard_token", "metrics_token", "stop_button_token", "stop_private_key", "stop_token"],
        "simulation": ["guard_token", "metrics_token"],
        "bridge_proxy": ["bridge_token"],
        "scripted_model": ["metrics_token"],
        "redis": ["admin_password", "users.acl"],
        "exporter": ["redis_password"],
        "prometheus": ["metrics_token"],
        "cli": ["api_token", "assistant_token", "stop_token"],
    }  # fmt: skip
    private = [path for path in folder.root.rglob("*") if "PRIVATE" in (path.read_text() if path.is_file() else "")]
    assert sorted(path.parent.name for path in private) == ["orchestrator", "stop"]


def test_nobody_else_on_the_machine_reads_them_and_no_two_are_the_same(folder: SecretsFolder) -> None:
    for path in (folder.root, *folder.root.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    presented = [folder.text(role, "redis_password") for role in ("orchestrator", "approach", "pick", "place")]
    presented += [folder.text(who, "gateway_key") for who in ("orchestrator", "approach", "pick", "place")]
    presented += [folder.text("cli", "api_token"), folder.text("cli", "stop_token")]
    assert len(set(presented)) == len(presented)
    assert min(map(len, presented)) >= 40
    users = folder.path("redis", "users.acl").read_text()
    assert not any(value in users for value in presented), "Redis' file holds digests"


def test_what_is_there_is_kept_and_what_is_missing_is_made_to_fit(folder: SecretsFolder) -> None:
    before = {path: path.read_text() for path in folder.root.rglob("*") if path.is_file()}
    assert folder.init() == []
    assert {path: path.read_text() for path in before} == before
    for process, name in (("pick", "gateway_key"), ("nav2", "grant_public_key"), ("stop", "stop_token")):
        folder.path(process, name).unlink()
    assert sorted(map(str, folder.init())) == ["nav2/grant_public_key", "pick/gateway_key", "stop/stop_token"]
    assert {path: path.read_text() for path in before} == before
    assert check_secrets(folder) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SECRETS)
def test_whatever_is_rotated_the_new_is_presented_and_both_are_accepted_until_the_old_is_retired(
    folder: SecretsFolder, name: str
) -> None:
    def presented() -> dict[Path, str]:
        files = [*(folder.path("prometheus").glob("*")), *folder.path("cli").glob("*"),
                 *folder.root.glob("*/redis_password"), *folder.root.glob("*/gateway_key"),
                 *folder.root.glob("*/*_private_key"), folder.path("redis", "admin_password"),
                 folder.path("stop", "guard_token"), folder.path("nav2", "bridge_token"),
                 folder.path("orchestrator", "stop_button_token")]  # fmt: skip
        return {file: file.read_text() for file in files}

    before = presented()
    folder.rotate(name, nothing)
    changed = {file for file, text in presented().items() if text != before[file]}
    assert changed, "somebody presents a new one"
    assert {folder.in_use(item) for item in SECRETS[name]} == {2}
    assert {folder.in_use(item) for other in SECRETS if other != name for item in SECRETS[other]} == {1}
    assert check_secrets(folder) == []
    folder.retire(name, nothing)
    assert {folder.in_use(item) for item in SECRETS[name]} == {1}
    assert check_secrets(folder) == []
    assert {file for file, text in presented().items() if text != before[file]} == changed


def test_servers_check_with_the_old_and_the_new_key_while_they_are_rotated(folder: SecretsFolder) -> None:
    def signed(process: str) -> str:
        key = folder.path(process, f"{SIGNS[process]}_private_key").read_text()
        return jwt.encode({"a": 1}, key, algorithm=ALGORITHM)

    def good(token: str, process: str) -> bool:
        for key in values(folder, "moveit", f"{SIGNS[process]}_public_key"):
            try:
                return jwt.decode(token, key, algorithms=[ALGORITHM]) == {"a": 1}
            except jwt.InvalidSignatureError:
                continue
        return False

    for process in SIGNS:
        old = signed(process)
        folder.rotate(f"{SIGNS[process]}_key", nothing)
        new = signed(process)
        assert good(old, process)
        assert good(new, process)
        folder.retire(f"{SIGNS[process]}_key", nothing)
        assert not good(old, process)
        assert good(new, process)


def test_tokens_of_other_callers_stay(folder: SecretsFolder) -> None:
    file = folder.path("orchestrator", "api_token")
    file.write_text(file.read_text() + "a-token-made-for-anna anna\n")
    old = folder.text("cli", "api_token")
    folder.rotate("api_token", nothing)
    folder.retire("api_token", nothing)
    assert old not in file.read_text()
    owners = {value.owner: value.text for value in Secret("x", file).values}
    assert owners == {"cli": folder.text("cli", "api_token"), "anna": "a-token-made-for-anna"}


def test_a_token_that_stands_there_twice_is_not_retired(folder: SecretsFolder) -> None:
    file = folder.path("orchestrator", "api_token")
    file.write_text(file.read_text() * 2)
    folder.retire("api_token", nothing)
    assert Secret("x", file).accepts(folder.text("cli", "api_token"))


def test_redis_learns_of_a_password_before_anybody_presents_it(folder: SecretsFolder) -> None:
    old = {role: folder.text(role, "redis_password") for role in ROLES if role != "admin"}
    seen: list[str] = []

    def reload(password: str) -> None:
        seen.append(password)
        known = digests_in(folder.path("redis", "users.acl").read_text())
        assert {role: len(known[role]) for role in ROLES} == {**dict.fromkeys(old, 2), "admin": 1}
        assert {role: folder.text(role, "redis_password") for role in old} == old

    admin = folder.text("redis", "admin_password")
    folder.rotate("redis_password", reload)
    assert seen == [admin]
    assert not {folder.text(role, "redis_password") for role in old} & set(old.values())


def test_the_administrator_presents_the_old_password_once_more_when_it_is_rotated(folder: SecretsFolder) -> None:
    seen: list[str] = []
    before = folder.text("redis", "admin_password")
    folder.rotate("redis_admin_password", seen.append)
    folder.retire("redis_admin_password", seen.append)
    assert seen == [before, folder.text("redis", "admin_password")]
    assert before != folder.text("redis", "admin_password")


def test_without_a_way_to_redis_nothing_is_rotated(folder: SecretsFolder) -> None:
    before = {path: path.read_text() for path in folder.root.rglob("*") if path.is_file()}
    with pytest.raises(SecretsError, match="--redis-url, or say --offline"):
        folder.rotate("redis_password", None)
    assert {path: path.read_text() for path in before} == before


def test_a_replaced_file_keeps_the_mode_that_a_deployment_gave_it(folder: SecretsFolder) -> None:
    file = folder.path("pick", "gateway_key")
    file.chmod(0o640)
    folder.rotate("gateway_key", nothing)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert check_secrets(folder) == [], "readable by a group is how containers share them"


def spoil(folder: SecretsFolder, how: str) -> None:
    path = folder.path
    if how == "missing":
        path("pick", "redis_password").unlink()
    elif how == "other":
        path("cli", "api_token").write_text("a-token-that-nobody-knows\n")
    elif how == "short":
        path("stop", "stop_token").write_text("short\n")
        path("cli", "stop_token").write_text("short\n")
    elif how == "key":
        path("nav2", "grant_public_key").write_text(path("nav2", "stop_public_key").read_text())
    elif how == "password":
        path("place", "redis_password").write_text("a-password-that-redis-does-not-know\n")
    elif how == "rights":
        file = path("redis", "users.acl")
        file.write_text(file.read_text().replace("+xadd", "+xadd +flushall", 1))
    elif how == "open":
        path("cli", "api_token").chmod(0o644)
    elif how == "stranger":
        path("pick", "grant_private_key").write_text("x")
        path("pick", "grant_private_key").chmod(0o600)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("missing", "pick/redis_password is missing; make it with: quartet secrets init"),
        ("other", "orchestrator/api_token does not accept what cli/api_token presents"),
        ("short", "stop/stop_token holds a value of fewer than 16 characters"),
        ("key", "nav2/grant_public_key does not hold the public part of orchestrator/grant_private_key"),
        ("password", "redis/users.acl does not know the password in place/redis_password"),
        ("rights", "redis/users.acl has other rights than this version needs"),
        ("open", "cli/api_token is open to every user of this machine; run: chmod o-rwx"),
        ("stranger", "pick/grant_private_key is a secret that this process must not have"),
    ],
)
def test_check_says_what_is_wrong_and_what_to_do(folder: SecretsFolder, how: str, said: str) -> None:
    spoil(folder, how)
    problems = check_secrets(folder)
    assert len(problems) == 1, problems
    assert said in problems[0]
    assert CliRunner().invoke(app, ["secrets", "check", str(folder.root)]).exit_code == 1


def test_an_update_of_the_rights_keeps_the_passwords(folder: SecretsFolder) -> None:
    file = folder.path("redis", "users.acl")
    known = digests_in(file.read_text())
    spoil(folder, "rights")
    assert list(map(str, folder.init())) == ["redis/users.acl"]
    assert file.read_text() == acl_file(known)
    assert known["pick"] == [digest(folder.text("pick", "redis_password"))]


def test_the_commands(tmp_path: Path) -> None:
    folder = str(tmp_path / "secrets")
    run = CliRunner()
    made = run.invoke(app, ["secrets", "init", folder])
    assert made.exit_code == 0
    assert "orchestrator/grant_private_key" in made.output
    assert "nothing is missing" in run.invoke(app, ["secrets", "init", folder]).output
    assert "is in order" in run.invoke(app, ["secrets", "check", folder]).output
    assert "until: quartet secrets retire" in run.invoke(app, ["secrets", "rotate", folder, "api_token"]).output
    table = run.invoke(app, ["secrets", "list", folder]).output
    texts = [value for file in Path(folder).rglob("*_token") for value in file.read_text().split()]
    assert len(table.splitlines()) > 10
    assert not any(text in table + made.output for text in texts if text != "cli"), "no value is shown"
    run.invoke(app, ["secrets", "retire", folder, "api_token"])
    token = run.invoke(app, ["secrets", "add", folder, "anna", "--role", "submit", "--role", "approve"]).output.strip()
    assert (tmp_path / "secrets/orchestrator/api_token").read_text().endswith(f"\n{token} anna roles=approve,submit\n")
    assert "is in order" in run.invoke(app, ["secrets", "check", folder]).output
    assert run.invoke(app, ["secrets", "add", folder, "ben", "--role", "king"]).exit_code == 2
    wrong = run.invoke(app, ["secrets", "rotate", folder, "coffee"])
    assert isinstance(wrong.exception, SecretsError)
    assert "there is no secret 'coffee'; valid: api_token, assistant_token, stop_token" in str(wrong.exception)
    offline = run.invoke(app, ["secrets", "rotate", folder, "redis_password", "--offline"])
    assert offline.exit_code == 0, offline.output


@pytest.mark.parametrize("name", ["cli", "", "two words", "roles=admin", "a\nb"])
def test_a_caller_has_a_name_of_its_own(folder: SecretsFolder, name: str) -> None:
    before = folder.path("orchestrator", "api_token").read_text()
    said = "has a token in .*; remove its line" if name == "cli" else "is not valid; valid"
    with pytest.raises(SecretsError, match=said):
        folder.add_caller(name, [Role.SUBMIT])
    assert folder.path("orchestrator", "api_token").read_text() == before


def test_who_was_added_stays_when_the_commands_token_is_rotated(folder: SecretsFolder) -> None:
    token = folder.add_caller("anna", [Role.SUBMIT])
    folder.rotate("api_token", nothing)
    folder.retire("api_token", nothing)
    accepted = Secret("x", folder.path("orchestrator", "api_token"))
    assert accepted.owner_of(token) == "anna roles=submit"
    assert len(accepted.values) == 2
