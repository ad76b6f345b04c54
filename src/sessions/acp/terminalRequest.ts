import { type ChildProcessByStdio, type SpawnOptions, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import type { Action } from "../../permissions/action.js";
import { shellLine } from "./callFields.js";
import { type Fields, fieldsOf, listOf, numberOf } from "./fields.js";
import { errorCode, RpcError } from "./rpcPeer.js";

/** A command that an agent asks the portal to run, exactly as it will run. */
export interface TerminalRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly outputBytes: number;
  /** Unknown fields. */
  readonly unknown: readonly string[];
}

const maxOutputBytes = 1024 * 1024;
/** Below the system's limit. */
const maxCommandChars = 100_000;
const maxVariables = 200;
const maxTitleChars = 500;
const knownFields = ["sessionId", "command", "args", "cwd", "env", "outputByteLimit", "_meta"];

const invalid = (message: string) => new RpcError(errorCode.invalidParams, message);

function isText(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0");
}

function argsOf(args: unknown): string[] {
  if (args === undefined || args === null) return [];
  if (!Array.isArray(args) || !args.every(isText)) throw invalid("args must be a list of strings");
  return args;
}

function envOf(env: unknown): TerminalRequest["env"] {
  if (env !== undefined && env !== null && !Array.isArray(env)) throw invalid("env must be a list");
  const variables = listOf(env);
  if (variables.length > maxVariables) throw invalid(`env has more than ${maxVariables} variables`);
  return variables.map(item => {
    const { name, value } = fieldsOf(item);
    if (!isText(name) || !isText(value) || name === "" || name.includes("="))
      throw invalid("env must be a list of names and values");
    return { name, value };
  });
}

/** Throws the agent's error when its request cannot run as given. */
export function terminalRequestOf(params: Fields): TerminalRequest {
  const { command, cwd, outputByteLimit } = params;
  if (!isText(command) || command === "") throw invalid("command must be a string");
  if (cwd !== undefined && cwd !== null && !isText(cwd)) throw invalid("cwd must be an absolute path");
  const args = argsOf(params.args);
  const env = envOf(params.env);
  const all = [command, ...args, ...env.flatMap(({ name, value }) => [name, value])];
  if (all.reduce((sum, text) => sum + text.length, 0) > maxCommandChars)
    throw invalid(`The command is longer than ${maxCommandChars} characters`);
  const limit = numberOf(outputByteLimit) ?? maxOutputBytes;
  return {
    command,
    args,
    cwd: cwd ?? undefined,
    env,
    outputBytes: Math.max(0, Math.min(limit, maxOutputBytes)),
    unknown: Object.keys(params).filter(name => !knownFields.includes(name)),
  };
}

/** Variables decide which programs and files are found, and many programs run what a variable names. */
const variablesChange = "It sets variables, which may change what runs.";

export function terminalAction(
  { command, args, cwd, env, unknown }: TerminalRequest,
  isSame: boolean,
): Action {
  const line = shellLine([command, ...args]);
  const unclear =
    env.length > 0
      ? variablesChange
      : isSame
        ? unknown[0] &&
          `It says ${JSON.stringify(unknown[0].slice(0, 100))}, which the portal does not understand.`
        : `It runs in another folder than the session's: ${cwd}`;
  const more = { ...(cwd !== undefined && { cwd }), ...(env.length > 0 && { env }) };
  return {
    kind: "execute",
    title: line.slice(0, maxTitleChars),
    command: line,
    ...(unclear && { unclear, arguments: more }),
  };
}

/** A command that cannot even be tried is the caller's error. */
export function start(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcessByStdio<null, Readable, Readable> {
  try {
    return spawn(command, args, {
      ...options,
      stdio: ["ignore", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
  } catch (error) {
    throw invalid(`It cannot be run (${(error as NodeJS.ErrnoException).code ?? "unknown reason"})`);
  }
}
