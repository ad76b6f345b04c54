/** Messages of a hostile or broken agent: by the thousand, and at random from a seed. */

type Json = Record<string, unknown>;
type Random = () => number;

export type Storm =
  | "messages"
  | "tools"
  | "permissions"
  | "responses"
  | "sameIds"
  | "plans"
  | "terminals"
  | "strays";

const options = [
  { optionId: "yes", kind: "allow_once", name: "Yes" },
  { optionId: "always", kind: "allow_always", name: "Always" },
  { optionId: "no", kind: "reject_once", name: "No" },
];
const update = (sessionId: string, content: Json): Json => ({
  method: "session/update",
  params: { sessionId, update: content },
});
const permission = (sessionId: string, id: unknown, toolCall: Json): Json => ({
  id,
  method: "session/request_permission",
  params: { sessionId, toolCall, options },
});

/** The message of a storm with this number. */
export function stormMessage(storm: Storm, sessionId: string, i: number): Json {
  const call = {
    toolCallId: `t${i}`,
    title: `call ${i}`,
    kind: "execute",
    rawInput: { command: `touch f${i}` },
  };
  switch (storm) {
    case "messages":
      return update(sessionId, {
        sessionUpdate: "agent_message_chunk",
        content: { type: "text", text: "x" },
      });
    case "tools":
      return update(sessionId, { sessionUpdate: "tool_call", ...call });
    case "permissions":
      return permission(sessionId, `p${i}`, call);
    case "sameIds":
      return permission(sessionId, "same", call);
    case "responses":
      return { id: `r${i}`, result: {} };
    case "plans":
      return update(sessionId, {
        sessionUpdate: "plan",
        entries: Array.from({ length: 2000 }, () => ({ content: "x".repeat(10), status: "pending" })),
      });
    case "terminals":
      return {
        id: `c${i}`,
        method: "terminal/create",
        params: { sessionId, command: "touch", args: [`f${i}`] },
      };
    case "strays":
      return update(`nobody${i}`, {
        sessionUpdate: "agent_message_chunk",
        content: { type: "text", text: "x" },
      });
  }
}

/** The same numbers for the same seed. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

/** Calls that the test's rules allow only in exactly this form. */
export const harmlessCalls: readonly Json[] = [
  { kind: "execute", rawInput: { command: "ls" } },
  { kind: "execute", rawInput: { command: "cat a.txt" } },
  { kind: "edit", rawInput: { path: "a.txt" } },
  { kind: "read", rawInput: { path: "a.txt" } },
];

const isFile = (text: unknown) => typeof text === "string" && text !== "" && !/^[/~]|\.\.\//.test(text);
const isText = (text: unknown) => typeof text !== "object";
const fileFields: Record<string, (value: unknown) => boolean> = {
  path: value => (Array.isArray(value) ? value.every(isFile) : isFile(value)),
  new_path: value => (Array.isArray(value) ? value.every(isFile) : isFile(value)),
  destination: value => (Array.isArray(value) ? value.every(isFile) : isFile(value)),
};
const editFields = { ...fileFields, content: isText, diff: (value: unknown) => typeof value === "string" };
const isNothing = (value: unknown) =>
  (value ?? null) === null || (Array.isArray(value) && value.length === 0);

/** Whether the test's rules may still allow a call after a random change. */
export function isHarmless({ kind, rawInput, content, locations, name }: Json): boolean {
  if (!isNothing(content) || !isNothing(locations) || typeof (name ?? "") !== "string") return false;
  if (typeof rawInput !== "object" || rawInput === null || Array.isArray(rawInput)) return false;
  const given = Object.entries(rawInput).filter(
    ([field, value]) => value !== null && !(field === "cwd" && (value === "" || isNothing(value))),
  );
  if (kind === "execute") {
    const [[field, command] = [], more] = given;
    return field === "command" && more === undefined && (command === "ls" || command === "cat a.txt");
  }
  const known = kind === "edit" ? editFields : kind === "read" ? fileFields : {};
  return (
    given.length > 0 &&
    given.every(([field, value]) => Object.hasOwn(known, field) && Reflect.get(known, field)(value))
  );
}

function shapes(random: Random, sessionId: string, id: unknown): Json {
  const text = { type: "text", text: pick(random, ["x", "", "\u202e\0\ud800", "y".repeat(5000)]) };
  const toolCallId = `f${Math.floor(random() * 40)}`;
  const call = { toolCallId, title: "ls", ...pick(random, harmlessCalls) };
  return pick(random, [
    () => update(sessionId, { sessionUpdate: "agent_message_chunk", content: text, messageId: "m" }),
    () => update(sessionId, { sessionUpdate: "agent_thought_chunk", content: text }),
    () => update(sessionId, { sessionUpdate: "user_message_chunk", content: text }),
    () => update(sessionId, { sessionUpdate: "tool_call", ...call, status: "pending" }),
    () =>
      update(sessionId, {
        sessionUpdate: "tool_call_update",
        toolCallId,
        status: pick(random, ["completed", "failed", "in_progress"]),
        content: [
          { type: "content", content: text },
          { type: "diff", path: "a", oldText: "b", newText: "c" },
        ],
        rawOutput: { content: "out", exitCode: 1 },
      }),
    () => update(sessionId, { sessionUpdate: "plan", entries: [{ content: "do", status: "pending" }] }),
    () =>
      update(sessionId, { sessionUpdate: "available_commands_update", availableCommands: [{ name: "c" }] }),
    () => update(sessionId, { sessionUpdate: "current_mode_update", currentModeId: "m" }),
    () =>
      update(sessionId, {
        sessionUpdate: "config_option_update",
        configOptions: [{ id: "o", type: "select", currentValue: "v", options: [{ value: "v" }] }],
      }),
    () =>
      update(sessionId, {
        sessionUpdate: "usage_update",
        used: 1,
        size: 2,
        cost: { amount: 1, currency: "x" },
      }),
    () => update(sessionId, { sessionUpdate: "session_info_update", title: "t", updatedAt: "now" }),
    () => update(sessionId, { sessionUpdate: "notice", severity: "info", title: "t" }),
    () => permission(sessionId, id, call),
    () => permission(sessionId, id, call),
    () => permission(sessionId, id, call),
    () => ({ id, method: "fs/read_text_file", params: { sessionId, path: "/etc/passwd" } }),
    () => ({ id, method: "fs/write_text_file", params: { sessionId, path: "/tmp/x", content: "x" } }),
    () => ({ id, method: "terminal/create", params: { sessionId, command: "ls", args: [], env: [] } }),
    () => ({ id, method: "terminal/output", params: { sessionId, terminalId: "t" } }),
    () => ({ id, method: "_vendor/method", params: {} }),
    () => ({ id: `answer-${random()}`, result: { stopReason: "end_turn" } }),
    () => ({ id: `answer-${random()}`, error: { code: -1, message: "m" } }),
    () => ({ method: "$/cancel_request", params: { requestId: id } }),
  ])();
}

function oddValue(random: Random): unknown {
  return pick(random, [
    () => null,
    () => 0,
    () => -1e308,
    () => "",
    () => true,
    () => [],
    () => ({}),
    () => ({ toString: 1, valueOf: 2, toJSON: 3, length: -1 }),
    () => JSON.parse('{"__proto__":{"x":1},"constructor":"c","hasOwnProperty":0}') as unknown,
    () => Array.from({ length: 2000 }, (_, i) => i),
    () => "../..".repeat(2000),
    () => "z".repeat(100_000),
    () => "/etc/passwd",
    () => "ls; touch fuzzed",
    () => ["ls", "&&", "touch", "fuzzed"],
    () => ({ type: "diff", path: "../x", newText: "y" }),
    () => nested(pick(random, [10, 60, 70, 5000])),
  ])();
}

function nested(depth: number): unknown {
  let value: unknown = 0;
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { a: value };
  return value;
}

const oddNames =
  `cwd env args commands shell stdin destination new_path path diff content locations name kind then
  __proto__ toJSON constructor sessionUpdate rawInput`.split(/\s+/);

/** Makes a random change at a random depth. */
function mutate(random: Random, value: Json): void {
  const keys = Object.keys(value);
  const key = pick(random, keys.length > 0 ? keys : ["x"]);
  const inner = value[key];
  if (typeof inner === "object" && inner !== null && random() < 0.75) {
    mutate(random, inner as Json);
    return;
  }
  const action = random();
  if (action < 0.2) delete value[key];
  else if (action < 0.6) value[key] = oddValue(random);
  else Object.defineProperty(value, pick(random, oddNames), property(oddValue(random)));
}

const property = (value: unknown) => ({ value, enumerable: true, configurable: true, writable: true });

/** Writes JSON of any depth, for which `JSON.stringify` would run out of stack. */
function lineOf(message: Json): string {
  try {
    return JSON.stringify({ jsonrpc: "2.0", ...message });
  } catch {
    return `{"jsonrpc":"2.0","method":"session/update","params":${"[".repeat(5000)}${"]".repeat(5000)}}`;
  }
}

export interface Fuzzed {
  line: string;
  /** For a permission request: its id, and whether a rule may allow it. */
  asked?: { id: string; isHarmless: boolean };
}

/** Messages of valid shapes, most of them changed at random. */
export function* fuzzedMessages(seed: number, count: number, sessionId: string): Generator<Fuzzed> {
  const random = randomFrom(seed);
  for (let i = 0; i < count; i++) {
    const id = `fuzz-${i}`;
    const message = structuredClone(shapes(random, sessionId, id));
    for (let changes = Math.floor(random() * 4); changes > 0; changes--) mutate(random, message);
    const params = message.params as { toolCall?: Json } | undefined;
    const line = random() < 0.02 ? lineOf(message).slice(0, Math.floor(random() * 200)) : lineOf(message);
    const isAsked = message.method === "session/request_permission" && message.id === id;
    const known = ["sessionId", "toolCall", "options"];
    const isKnown = Object.keys(params ?? {}).every(name => known.includes(name));
    const call = params?.toolCall;
    const isCall = typeof call === "object" && call !== null;
    yield isAsked ? { line, asked: { id, isHarmless: isKnown && isCall && isHarmless(call) } } : { line };
  }
}
