import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { TailBuffer } from "../../base/tailBuffer.js";
import type { Action } from "../../permissions/action.js";
import type { LinkOptions } from "./agentLink.js";
import { confined } from "./confined.js";
import { type Fields, textOf } from "./fields.js";
import { errorCode, RpcError } from "./rpcPeer.js";
import { start, terminalAction, terminalRequestOf } from "./terminalRequest.js";

export interface ClientTerminalsOptions {
  folder: string;
  env: NodeJS.ProcessEnv;
  wrap: LinkOptions["wrap"];
  /** Throws when the user, a rule or the policy rejects it. */
  allow(action: Action): Promise<void>;
  /** A terminal has written something. */
  onOutput(terminalId: string): void;
}

type Variables = Readonly<Record<string, string>>;

interface ExitStatus {
  exitCode: number | null;
  signal: string | null;
}

interface Terminal {
  child: ChildProcess;
  output: TailBuffer;
  exit: ExitStatus | undefined;
  exited: Promise<ExitStatus>;
}

const maxTerminals = 20;
const killAfterMs = 2000;

/** Commands that the portal runs for an agent: no shell, bounded output, ended with the session. */
export class ClientTerminals {
  readonly #options: ClientTerminalsOptions;
  readonly #terminals = new Map<string, Terminal>();
  /** The output of released terminals, for tool blocks; most recent last. */
  readonly #released = new Map<string, string>();
  #ended = false;

  constructor(options: ClientTerminalsOptions) {
    this.#options = options;
  }

  textOf(terminalId: string): string {
    return this.#terminals.get(terminalId)?.output.text() ?? this.#released.get(terminalId) ?? "";
  }

  async answer(method: string, params: Fields): Promise<object> {
    if (method === "terminal/create") return this.#create(params);
    const id = textOf(params.terminalId) ?? "";
    const terminal = this.#terminals.get(id);
    if (!terminal) throw new RpcError(errorCode.notFound, `Resource not found: terminal ${id.slice(0, 100)}`);
    switch (method) {
      case "terminal/output": {
        const { output, exit } = terminal;
        return { output: output.text(), truncated: output.truncated, ...(exit && { exitStatus: exit }) };
      }
      case "terminal/wait_for_exit":
        return terminal.exited;
      case "terminal/kill":
        this.#kill(terminal);
        return {};
      case "terminal/release":
        this.#release(id, terminal);
        return {};
      default:
        throw new RpcError(errorCode.methodNotFound, `Method not found: ${method.slice(0, 100)}`);
    }
  }

  endAll(): void {
    this.#ended = true;
    for (const [id, terminal] of this.#terminals) this.#release(id, terminal);
  }

  async #create(params: Fields): Promise<object> {
    const asked = terminalRequestOf(params);
    const { folder, allow } = this.#options;
    const named = asked.cwd ?? folder;
    const isSame = (await confined(folder, named)) === (await confined(folder, folder));
    await allow(terminalAction(asked, isSame));
    // The folder may have changed while the user decided.
    const cwd = await confined(folder, named);
    if (this.#ended) throw new RpcError(errorCode.notFound, "Session not found");
    if (this.#terminals.size >= maxTerminals)
      throw new RpcError(errorCode.internal, `At most ${maxTerminals} terminals can be open`);
    const id = randomUUID();
    const variables = Object.fromEntries(asked.env.map(({ name, value }) => [name, value]));
    const { command, args, outputBytes } = asked;
    const wrapped = await this.#options.wrap?.({ command, args, by: "agent", cwd, variables });
    // In a sandbox the variables are set inside.
    const run = wrapped ?? { program: command, args, variables };
    this.#terminals.set(id, this.#run(id, run, cwd, outputBytes));
    return { terminalId: id };
  }

  #run(
    id: string,
    { program, args, variables }: { program: string; args: readonly string[]; variables?: Variables },
    cwd: string,
    outputBytes: number,
  ): Terminal {
    const output = new TailBuffer(outputBytes);
    const child = start(program, args, {
      cwd,
      env: { ...this.#options.env, ...variables },
    });
    const keep = (chunk: Buffer) => {
      output.push(chunk);
      this.#options.onOutput(id);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    const exited = new Promise<ExitStatus>(resolve => {
      child.once("error", error => {
        output.push(Buffer.from(`${error.message}\n`));
        resolve({ exitCode: 127, signal: null });
      });
      child.once("close", (exitCode, signal) => resolve({ exitCode, signal }));
      // A background command may keep the pipes open.
      child.once("exit", (exitCode, signal) => setTimeout(() => resolve({ exitCode, signal }), 500).unref());
    });
    const terminal: Terminal = { child, output, exit: undefined, exited };
    void exited.then(exit => {
      terminal.exit = exit;
      this.#options.onOutput(id);
    });
    return terminal;
  }

  #release(id: string, terminal: Terminal): void {
    this.#kill(terminal);
    this.#terminals.delete(id);
    this.#released.set(id, terminal.output.text());
    const [oldest] = this.#released.keys();
    if (this.#released.size > maxTerminals && oldest !== undefined) this.#released.delete(oldest);
  }

  #kill({ child, exit }: Terminal): void {
    if (exit || child.pid === undefined) return;
    signalGroup(child, "SIGTERM");
    setTimeout(() => signalGroup(child, "SIGKILL"), killAfterMs).unref();
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (process.platform === "win32" || child.pid === undefined) child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // The whole group has ended by itself.
  }
}
