"""Workflows, Dependabot and forms are what GitHub takes, and name what exists."""

import importlib.resources
import json
import re
from pathlib import Path

import jsonschema.validators
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
CHECKED = {
    **dict.fromkeys(WORKFLOWS, "github-workflows"),
    **dict.fromkeys(FORMS, "github-issue-forms"),
    GITHUB / "ISSUE_TEMPLATE" / "config.yml": "github-issue-config",
    GITHUB / "dependabot.yml": "dependabot",
    ROOT / "docker-compose.yml": "compose-spec",
    ROOT / "CITATION.cff": "citation-file-format",
}


def schema(name: str) -> dict:
    vendored = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor" / f"{name}.json"
    return json.loads(vendored.read_text(encoding="utf-8"))


class Loader(yaml.SafeLoader):
    """YAML 1.2 as GitHub reads it: `on` is a word and no truth value, a date is a text."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":timestamp"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|false)$"), list("tf"))


def read(path: Path) -> dict:
    return yaml.load(path.read_text(), Loader)


def jobs():
    return [(path.name, name, job) for path in WORKFLOWS for name, job in read(path)["jobs"].items()]


def steps():
    """The steps of all jobs, each with its job's name."""
    return [(name, step) for _, name, job in jobs() for step in job["steps"]]


@pytest.mark.parametrize("path", CHECKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_it_is_valid(path):
    jsonschema.validators.validator_for(schema(CHECKED[path]))(schema(CHECKED[path])).validate(read(path))


def test_the_schemas_refuse_what_is_wrong():
    """Else the test above proves nothing."""
    wrong = {"on": "push", "jobs": {"a": {"runs-on": "x", "steps": [{"run": "true", "uses_": "b"}]}}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema("github-workflows"))


def test_actions_are_pinned_to_a_commit():
    """A tag can be moved to other code; the comment says which version the commit is, for people and Dependabot."""
    used = [line for path in WORKFLOWS for line in path.read_text().splitlines() if re.search(r"\buses:", line)]
    assert used
    assert [line for line in used if not re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)] == []
    versions = {tuple(re.search(r"uses: (\S+)@(\S+)", line).groups()) for line in used}
    assert len(versions) == len({name for name, _ in versions}), "one version of each action"


def test_images_are_scanned_before_they_are_pushed_and_signed_after():
    named = [step.get("name") for name, step in steps() if name == "images"]
    assert [name for name in named if name] == ["Names", "Build", "Scan", "Push", "Sign", "Pin", "Chart"]


def test_each_image_that_is_pushed_has_a_signature_and_a_signed_list_of_what_is_in_it():
    """By its digest: a tag could be moved in between."""
    runs = {step["name"]: step["run"] for name, step in steps() if name == "images" and "run" in step}
    assert ".RepoDigests" in runs["Push"]
    assert "digests.txt" in runs["Push"]
    signing, each = runs["Sign"], "while read -r image; do\n"
    assert signing.startswith(each)
    assert signing.rstrip().endswith("done <digests.txt")
    for command in (
        'cosign sign --yes "$image"',
        '"$SYFT" "$image" --output spdx-json=sbom.json',
        'cosign attest --yes --type spdxjson --predicate sbom.json "$image"',
    ):
        assert command in signing
    assert "--fail-on high" in runs["Scan"]
    assert "--lock-image-digests" in runs["Pin"]
    audits = [step["run"] for _, step in steps() if "make audit" in step.get("run", "")]
    assert audits, "known vulnerabilities of the locked dependencies are looked up"


def test_no_image_of_ours_is_left_out():
    """A service with a profile is not built, scanned, signed and pinned unless its profile is named."""
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    profiles = {name for service in services.values() if "build" in service for name in service.get("profiles", [])}
    runs = [step["run"] for name, step in steps() if name == "images" and "docker compose" in step.get("run", "")]
    assert len(runs) == 3
    for run in runs:
        assert set(re.findall(r"--profile (\S+)", run)) == profiles


def test_rights_are_the_least():
    for path in WORKFLOWS:
        assert read(path)["permissions"] == {"contents": "read"}, path.name
    more = {(path, name): job["permissions"] for path, name, job in jobs() if "permissions" in job}
    assert more == {("images.yml", "images"): {"contents": "read", "packages": "write", "id-token": "write"}}
    for _, step in steps():
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] == "false" or step["with"]["persist-credentials"] is False
        # What somebody writes into a title or a branch name must not become a command.
        assert "${{" not in step.get("run", "")


def test_what_they_run_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {target for _, step in steps() for target in re.findall(r"make ([a-z-]+)", step.get("run", ""))}
    assert named >= {"test", "test-long", "lint", "audit", "test-kubernetes", "test-containers"}
    assert named <= targets
    paths = {
        path for _, step in steps() for path in re.findall(r"(?<!\S)((?:deploy|scripts)/\S+)", step.get("run", ""))
    }
    assert all((ROOT / path).exists() for path in paths), paths


def test_tests_that_cannot_have_what_they_need_fail():
    """As in .ci/run: what is skipped says nothing."""
    runs = [step for _, step in steps() if re.search(r"make test(-[a-z]+)?\b", step.get("run", ""))]
    assert len(runs) >= 3
    assert [step["run"] for step in runs if step.get("env", {}).get("QUARTET_TEST_ALL") != "1"] == []


def test_every_python_that_is_promised_is_tested():
    (matrix,) = [job["strategy"]["matrix"]["python"] for _, name, job in jobs() if name == "tests"]
    low, high = re.search(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', (ROOT / "pyproject.toml").read_text()).groups()
    assert matrix == [f"3.{minor}" for minor in range(int(low), int(high))]


def test_dependabot_sees_what_has_versions():
    updates = {update["package-ecosystem"]: update for update in read(GITHUB / "dependabot.yml")["updates"]}
    assert updates.keys() == {"uv", "docker", "docker-compose", "github-actions"}
    for folder in updates["docker"]["directories"]:
        assert list((ROOT / folder.lstrip("/")).glob("*ockerfile*")), folder


def test_images_that_compose_takes_from_others_have_an_exact_version_and_a_stand_in():
    """`latest` and `8-alpine` are other programs on another day; a release names all images by digest on top."""
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    images = {name: service["image"] for name, service in services.items() if "build" not in service}
    assert set(images) == {"redis", "prometheus", "redis-exporter", "grafana"}
    defaults = {
        name: re.fullmatch(r"\$\{QUARTET_[A-Z]+_IMAGE:-(.+)\}", image).group(1) for name, image in images.items()
    }
    exact = r"[a-z0-9./_-]+:v?\d+\.\d+\.\d+(-alpine)?(@sha256:[0-9a-f]{64})?"
    assert {name: image for name, image in defaults.items() if not re.fullmatch(exact, image)} == {}
    example = (ROOT / ".env.example").read_text()
    stand_ins = (ROOT / "scripts/stand-in-images").read_text()
    for image in defaults.values():
        assert f"_IMAGE={image}\n" in example
        assert f"            {image.partition(':')[0]}:*) echo" in stand_ins
