"""`quartet compat`: how long its grants last, and what ends it before it serves."""

from pathlib import Path

import pytest

from quartet_cli.commands.compat import GRANT_S, renewed
from quartet_cli.main import main

RULES = Path(__file__).parents[3] / "deploy" / "compat" / "four-agent.yaml"


def test_a_grant_is_kept_for_half_of_its_life():
    now, signed = 0.0, []

    def sign() -> str:
        signed.append(now)
        return f"token {len(signed)}"

    token = renewed(sign, clock=lambda: now)
    found = []
    for now in range(0, 2 * GRANT_S, 60):
        found.append((now, token()))
        assert now - signed[-1] <= GRANT_S / 2
    assert len({text for _, text in found}) == 4
    assert [text for _, text in found] == sorted(text for _, text in found)


@pytest.mark.parametrize(
    ("text", "said"),
    [("servers: {}", "at least 1"), ("servers: [", "rules.yaml"), (None, "rules.yaml"), ("", "must hold fields")],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path, capsys, text, said):
    rules = tmp_path / "rules.yaml"
    if text is not None:
        rules.write_text(text)
    with pytest.raises(SystemExit) as end:
        main(["compat", str(rules), "--robot", "summit"])
    assert end.value.code == 2
    assert said in capsys.readouterr().err


def test_without_a_running_deployment_it_asks_for_the_key(monkeypatch, capsys):
    monkeypatch.setattr("quartet_cli.commands.access.running_stack", dict)
    with pytest.raises(SystemExit) as end:
        main(["compat", str(RULES), "--robot", "summit"])
    assert end.value.code == 2
    assert "--key is needed, because no `quartet up` runs here" in capsys.readouterr().err
