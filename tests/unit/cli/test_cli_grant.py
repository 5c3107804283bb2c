"""`quartet grant`: what the token says."""

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from quartet_cli.main import main


@pytest.mark.parametrize(("options", "beats"), [((), False), (("--beats",), True)])
def test_a_client_beats_only_if_it_says_so(tmp_path, capsys, options, beats):
    key = Ed25519PrivateKey.generate()
    file = tmp_path / "key.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(SystemExit) as end:
        main(["grant", "nav2__spin_robot", "--robot", "summit", "--key", str(file), "--fence", "8", *options])
    assert not end.value.code
    token = capsys.readouterr().out.strip()
    claims = jwt.decode(token, key.public_key(), algorithms=["EdDSA"], audience="robot:summit")
    assert (claims["beats"], claims["fence"], claims["tools"]) == (beats, 8, ["nav2__spin_robot"])
