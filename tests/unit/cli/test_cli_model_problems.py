"""What `quartet up` says of agents that have no model."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from quartet_cli.commands.up import model_problems

MISSING = "set ANTHROPIC_API_KEY in .env to use anthropic/claude-sonnet-4-5"


class Health(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        problems = {"orchestrator": MISSING, "pick": MISSING, "place": "set OPENAI_API_KEY in .env"}
        body = json.dumps({"status": "not configured", "problems": problems}).encode()
        self.send_response(503 if self.path == "/health" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def test_agents_with_the_same_problem_are_named_together() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Health)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        found = model_problems(f"http://127.0.0.1:{server.server_address[1]}")
    finally:
        server.shutdown()
        server.server_close()
    assert found == {"orchestrator, pick": MISSING, "place": "set OPENAI_API_KEY in .env"}
    # Nobody listens there any more: that is told elsewhere.
    assert model_problems(f"http://127.0.0.1:{server.server_address[1]}") == {}
