// As much of a Redis client as an agent needs: https://redis.io/docs/latest/develop/reference/protocol-spec/
import net from "node:net";

/** A connection that sends one command per call and resolves to its answer. The process ends when it breaks. */
export function connect(url) {
  const link = net.connect(Number(url.port || 6379), url.hostname);
  const waiting = [];
  let data = Buffer.alloc(0);

  /** [value, where it ends], or nothing while it has not come whole. */
  const read = (at) => {
    const end = data.indexOf("\r\n", at);
    if (end < 0) return undefined;
    const kind = String.fromCharCode(data[at]), head = data.toString("utf8", at + 1, end), next = end + 2;
    if (kind === "-") return [new Error(head), next];
    if (kind === ":") return [Number(head), next];
    if (kind === "+" || head === "-1") return [kind === "+" ? head : null, next];
    if (kind === "$") {
      const stop = next + Number(head);
      return data.length < stop + 2 ? undefined : [data.toString("utf8", next, stop), stop + 2];
    }
    const list = [];
    let from = next;
    while (list.length < Number(head)) {
      const item = read(from);
      if (!item) return undefined;
      list.push(item[0]);
      from = item[1];
    }
    return [list, from];
  };

  link.on("data", (chunk) => {
    data = Buffer.concat([data, chunk]);
    for (let found = read(0); found; found = read(0)) {
      data = data.subarray(found[1]);
      const { resolve, reject } = waiting.shift();
      if (found[0] instanceof Error) reject(found[0]);
      else resolve(found[0]);
    }
  });
  link.on("error", (error) => console.error(`redis: ${error.message}`));
  link.on("close", () => process.exit(1));
  return (...words) =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      const parts = words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`);
      link.write(`*${words.length}\r\n${parts.join("")}`);
    });
}
