import { callTool, fault, type ModelRequest, runShell, type Script, type Step } from "./scriptedModel.js";

/**
 * A model that does what the prompt says. Each line of the prompt is an order:
 * - `@call TOOL ARGUMENT` calls a tool; `@call-from N TOOL ARGUMENT` only from the Nth time on
 * - `@shell COMMAND` runs a command
 * - `@say TEXT` begins the answer with this text
 * - `@crash` fails the turn; `@crash-first N` only the first N times
 * - `@wait NAME` stops until the test releases that name; `@wait-each NAME` until it releases `NAME N`, N being the time
 * - `@wait-after NAME` does the same when the tools of the prompt have ended
 * - `@false-until N` answers the condition with false, from the Nth time on with true
 * Times are counted per line, across all sessions.
 */
export interface Puppet {
  script: Script;
  /** Every prompt that arrived, oldest first. */
  readonly prompts: string[];
  /** Resolves when a prompt with `@wait NAME` has arrived. */
  arrived(name: string): Promise<void>;
  release(name: string): void;
}

interface Gate {
  arrive: () => void;
  arrived: Promise<void>;
  release: () => void;
  released: Promise<void>;
}

export function puppet(): Puppet {
  const prompts: string[] = [];
  const times = new Map<string, number>();
  const gates = new Map<string, Gate>();

  const gateOf = (name: string): Gate => {
    const known = gates.get(name) ?? newGate();
    gates.set(name, known);
    return known;
  };

  function stepsOf(line: string, tools: readonly string[]): Step[] {
    const call = ([tool = "", ...argument]: string[]): Step =>
      // An agent may prefix a tool with the name of its server.
      callTool(tools.find(name => name.endsWith(tool)) ?? tool, { argument: argument.join(" ") });
    const [order = "", ...words] = line.slice(1).split(" ");
    const time = (times.get(line) ?? 0) + 1;
    times.set(line, time);
    switch (order) {
      case "call":
        return [call(words)];
      case "say":
        return [{ text: words.join(" ") }];
      case "shell":
        return [runShell(words.join(" "))];
      case "call-from":
        return time >= Number(words[0]) ? [call(words.slice(1))] : [];
      case "false-until":
        return [call([time >= Number(words[0]) ? "job_boolean_true" : "job_boolean_false", `time ${time}`])];
      case "crash":
        return [fault.http(400)];
      case "crash-first":
        return time <= Number(words[0]) ? [fault.http(400)] : [];
      case "wait-after":
        return [];
      case "wait":
      case "wait-each": {
        const name = words.join(" ");
        const gate = gateOf(order === "wait" ? name : `${name} ${time}`);
        gate.arrive();
        return [{ wait: () => gate.released }];
      }
      default:
        throw new Error(`The puppet does not know ${line}`);
    }
  }

  function afterTools(prompt: string): Step[] {
    const [, name] = /^@wait-after (.+)$/m.exec(prompt) ?? [];
    if (name === undefined) return [];
    const gate = gateOf(name);
    gate.arrive();
    return [{ wait: () => gate.released }];
  }

  function script(request: ModelRequest): Step[] {
    if (request.reason !== "user") return [...afterTools(request.userText), { text: "Done." }];
    prompts.push(request.userText);
    const orders = request.userText.split("\n").filter(line => line.startsWith("@"));
    const steps = orders.flatMap(line => stepsOf(line, request.tools));
    // A failure is the whole reply, and the text after a tool call comes with the next request.
    const failure = steps.find(step => "http" in step);
    if (failure) return [failure];
    return steps.some(step => "toolCalls" in step) ? steps : [...steps, { text: "Done." }];
  }

  return {
    script,
    prompts,
    arrived: name => gateOf(name).arrived,
    release: name => gateOf(name).release(),
  };
}

function newGate(): Gate {
  let arrive = () => {};
  let release = () => {};
  const arrived = new Promise<void>(resolve => {
    arrive = resolve;
  });
  const released = new Promise<void>(resolve => {
    release = resolve;
  });
  return { arrive, arrived, release, released };
}
