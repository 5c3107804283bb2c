// As much of an MCP client as an agent needs: JSON-RPC over streamable HTTP, with heartbeats while the robot moves.
const PROTOCOL = "2025-06-18";
const BEAT_MS = 100;

/** A session with the server at `url`; `grant` is the request's token. */
export class Server {
  constructor(url, grant) {
    this.url = url;
    this.headers = { authorization: `Bearer ${grant}` };
    this.count = 0;
  }

  /** The tool's result: {ok, error_code, message, ...}. Throws when the server cannot be asked. */
  async call(name, args = {}) {
    if (this.count === 0) {
      const capabilities = {}, clientInfo = { name: "pick-agent-node", version: "1" };
      await this.#ask("initialize", { protocolVersion: PROTOCOL, capabilities, clientInfo });
      await this.#post({ method: "notifications/initialized" });
    }
    // Without these the server brings the robot to rest, so that nothing moves for a caller that is gone.
    const beat = setInterval(() => {
      fetch(this.url.replace(/mcp$/, "control/beat"), { method: "POST", headers: this.headers }).catch(() => {});
    }, BEAT_MS);
    try {
      const result = await this.#ask("tools/call", { name, arguments: args });
      return result.structuredContent ?? { ok: false, error_code: "UNKNOWN", message: JSON.stringify(result.content) };
    } finally {
      clearInterval(beat);
    }
  }

  async #ask(method, params) {
    const id = ++this.count;
    const text = await this.#post({ id, method, params });
    // One JSON object, or a stream of events of which one is the answer.
    const bodies = text.startsWith("{") ? [text] : text.split(/\r?\n/).filter((l) => l.startsWith("data:")).map((l) => l.slice(5));
    const answer = bodies.map((body) => JSON.parse(body)).find((message) => message.id === id);
    if (!answer || answer.error) throw new Error(`${method}: ${answer ? answer.error.message : "no answer"}`);
    return answer.result;
  }

  async #post(message) {
    const answer = await fetch(this.url, {
      method: "POST",
      headers: {
        ...this.headers,
        ...(this.session && { "mcp-session-id": this.session }),
        "mcp-protocol-version": PROTOCOL,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
    this.session ??= answer.headers.get("mcp-session-id");
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${message.method}: ${answer.status} ${text}`);
    return text;
  }
}
