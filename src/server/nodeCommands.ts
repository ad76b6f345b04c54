import { homedir } from "node:os";
import { resolve } from "node:path";
import yargs from "yargs";
import { StartError } from "../base/startError.js";
import type { ShownNode } from "../nodes/nodeAnswer.js";
import { stateFolder } from "./options.js";
import { readAddress } from "./portalAddress.js";

/** Runs `copilot-portal nodes`, `copilot-portal node drain NAME` and `copilot-portal node remove NAME`. False for any other command line. */
export async function runNodeCommand(args: readonly string[]): Promise<boolean> {
  const [command] = args;
  if (command !== "nodes" && command !== "node") return false;
  const { dataDir, _: words } = parse(args);
  const said = await answer(words.map(String), resolve(dataDir));
  process.stdout.write(`${said}\n`);
  return true;
}

function parse(args: readonly string[]) {
  return yargs([...args])
    .scriptName("copilot-portal")
    .usage("$0 nodes [options]\n$0 node drain NAME [options]\n$0 node remove NAME [options]")
    .locale("en")
    .version(false)
    .strictOptions()
    .parserConfiguration({ "parse-positional-numbers": false, "duplicate-arguments-array": false })
    .option("data-dir", {
      type: "string",
      requiresArg: true,
      default: stateFolder(process.platform, process.env, homedir()),
      describe: "The data folder of a running portal, which is asked",
    })
    .fail((message, error) => {
      throw new StartError(`${(message ?? error.message).replaceAll(/\s+/g, " ")}; --help lists the options`);
    })
    .parseSync();
}

async function answer(words: readonly string[], dataDir: string): Promise<string> {
  const [command, verb, name, ...more] = words;
  if (command === "nodes" && verb === undefined) {
    const { nodes } = await ask<{ nodes: ShownNode[] }>(dataDir, "copilot/nodes", "GET");
    return nodes.map(lineOf).join("\n");
  }
  if (command !== "node" || !isVerb(verb) || name === undefined || more.length > 0)
    throw new StartError(
      "The commands are copilot-portal nodes, copilot-portal node drain NAME, and copilot-portal node remove NAME",
    );
  const path = `copilot/nodes/${encodeURIComponent(name)}/${verb}`;
  const { error } = await ask<{ error?: string }>(dataDir, path, "POST");
  if (error !== undefined) throw new StartError(problems[error]?.(name) ?? `The node ${name}: ${error}`);
  return done[verb](name);
}

const done = {
  drain: (name: string) =>
    `The node ${name} is being drained: it starts no new job. Stop it when copilot-portal nodes says drained.`,
  remove: (name: string) => `The node ${name} was removed: its jobs have ended, and its sessions are closed.`,
};

const isVerb = (verb: string | undefined): verb is keyof typeof done => verb === "drain" || verb === "remove";

const problems: Readonly<Record<string, (name: string) => string>> = {
  NodeNotFound: name => `There is no node ${name}.`,
  NodeNotRunning: name => `The node ${name} is not running.`,
  NodeRunning: name => `The node ${name} is running. Stop it first.`,
};

function lineOf(node: ShownNode): string {
  const { name, state, url, jobs, places, tasks, waiting, lastSeen, version, warnings } = node;
  const work = `${jobs} of ${places || "any number of"} jobs, ${tasks} tasks, ${waiting} waiting`;
  const columns = [name, state, url || "-", work, `seen ${lastSeen}`, version].join("\t");
  return [columns, ...warnings.map(warning => `\twarning: ${warning}`)].join("\n");
}

async function ask<Answer>(dataDir: string, path: string, method: "GET" | "POST"): Promise<Answer> {
  const url = readAddress(dataDir);
  const { PORTAL_TOKEN: token } = process.env;
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = url && (await fetch(`${url}/api/${path}`, { method, headers }).catch(() => undefined));
  if (!response) throw new StartError(`No portal runs on ${dataDir}; name its data folder with --data-dir`);
  if (response.status === 401)
    throw new StartError(`The portal at ${url} asks for a token; set PORTAL_TOKEN`);
  return (await response.json()) as Answer;
}
