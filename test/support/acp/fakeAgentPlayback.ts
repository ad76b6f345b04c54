import type { Interface } from "node:readline";

interface Recorded {
  direction: "sent" | "received";
  message: { id?: unknown; method?: string; [name: string]: unknown };
}

/**
 * Plays the agent's part of recorded traffic: sends each recorded message as soon as the portal has sent what came
 * before it. Ids of requests may differ.
 */
export function playBack(
  recording: string,
  lines: Interface,
  send: (message: Record<string, unknown>) => void,
): void {
  const script = recording
    .split("\n")
    .filter(line => line !== "")
    .map(line => JSON.parse(line) as Recorded);
  const ids = new Map<unknown, unknown>();
  let next = 0;
  function sendOwn(): void {
    for (let item = script[next]; item?.direction === "received"; item = script[++next]) {
      const { jsonrpc: _, ...message } = item.message;
      const isResponse = message.method === undefined;
      send(isResponse ? { ...message, id: ids.get(message.id) } : message);
    }
  }
  lines.on("line", line => {
    const message = JSON.parse(line) as Recorded["message"];
    const expected = script[next]?.message;
    if (expected?.method !== message.method) return;
    if (message.method !== undefined) ids.set(expected?.id, message.id);
    next++;
    sendOwn();
  });
  sendOwn();
}
