import assert from "node:assert/strict";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Scope, tempFolder } from "../cleanup.js";
import { type EntryOfTest, entryOf, type TaskOfTest, task } from "../jobs/jobs.js";
import { liveAll } from "../live/sse.js";
import { puppet } from "../model/puppet.js";
import { type ScriptedModel, startScriptedModel } from "../model/scriptedModel.js";
import { type Portal, type PortalOptions, startPortal } from "../portal/portal.js";
import { processesWith } from "../processes.js";
import { seen } from "../seen.js";
import type { PostgresServer } from "../store/postgres.js";

const model = { category: "driving" };
const held = (name: string): TaskOfTest => ({ prompt: [name, `@wait-each ${name}`], model });
const tasks = { first: { prompt: ["first"], model }, held: held("held"), last: { prompt: ["last"], model } };
const jobs = {
  three: { work: { kind: "Seq" as const, works: [task("first"), task("held"), task("last")] } },
};

const grid = [{ keyword: "All", jobs: [{ name: "Three", jobName: "three" }] }];

export interface NodeOptions {
  /** Instead of the model of all nodes. */
  model?: ScriptedModel;
  config?: object;
  args?: readonly string[];
  env?: NodeJS.ProcessEnv;
  /** Instead of the portal of this build. */
  program?: string;
}

/** A node as `copilot/nodes` shows it. */
export interface NodeOfTest {
  name: string;
  version: string;
  state: string;
  jobs: number;
  places: number;
  waiting: number;
  sharedDirs: string[];
  warnings: string[];
}

export type Nodes = Awaited<ReturnType<typeof nodesOf>>;

/** A lease in tests: long enough for a busy machine, short enough to wait for its end. */
export const leaseMs = 6_000;

/** Nodes on one database with one model, which tells every prompt. Without an entry their job is first, held, last. */
export async function nodesOf(
  t: Scope,
  server: Pick<PostgresServer, "newDatabase" | "urlOf">,
  entry: EntryOfTest = { tasks, jobs, grid },
) {
  const shown = puppet();
  const scripted = await startScriptedModel(t, { script: shown.script });
  const folder = await tempFolder(t, "portal-nodes");
  const entryFile = join(folder, "entry.json");
  await writeFile(entryFile, JSON.stringify(entryOf(entry)));
  const sharedDir = await tempFolder(t, "portal-shared");
  const database = await server.newDatabase();

  /** For a node that is started in another way. */
  async function options(
    name: string,
    { model: own, config, args = [], env, program }: NodeOptions = {},
  ): Promise<PortalOptions> {
    const configFile = join(folder, `${name}.json`);
    if (config) await writeFile(configFile, JSON.stringify(config));
    return {
      model: own ?? scripted,
      program,
      args: [
        ...["--test", "--entry", entryFile, "--node", name, "--shared-dir", sharedDir],
        ...(config ? ["--config", configFile] : []),
        ...args,
      ],
      env: { PORTAL_DATABASE_URL: server.urlOf(database), PORTAL_TEST_LEASE_MS: `${leaseMs}`, ...env },
    };
  }

  async function idOf(
    portal: Portal,
    path: string,
    body: string,
    name: "jobId" | "sessionId",
  ): Promise<string> {
    const answer = (await portal.api(`copilot/${path}`, { body })).body;
    assert.equal(typeof answer[name], "string", JSON.stringify(answer));
    return String(answer[name]);
  }

  return {
    puppet: shown,
    model: scripted,
    sharedDir,
    database,
    options,
    /** The port opens before the node has joined. */
    async start(name: string, more: NodeOptions = {}): Promise<Portal> {
      const portal = await startPortal(t, await options(name, more));
      await hasJoined(portal);
      return portal;
    },
    /** A new folder that every node sees. */
    sharedFolder: () => mkdtemp(join(sharedDir, "work-")),
    startJob: (portal: Portal, workingDirectory: string, name = "three") =>
      idOf(portal, `job/start/${name}`, `${workingDirectory}\n`, "jobId"),
    startSession: (portal: Portal, workingDirectory: string) =>
      idOf(portal, `session/start/${scripted.modelId}`, workingDirectory, "sessionId"),
    /** How often each of these prompts was sent, with a crash prefix or without. */
    counts: (...names: string[]): Record<string, number> =>
      Object.fromEntries(
        (names.length > 0 ? names : Object.keys(tasks)).map(name => [
          name,
          shown.prompts.filter(prompt => prompt.split("\n").includes(name)).length,
        ]),
      ),
  };
}

export const hasJoined = (portal: Portal) =>
  seen(async () => (await portal.api<{ lease: string }>("health")).body.lease === "held");

export const logOf = (portal: Portal, jobId: string) =>
  liveAll(`${portal.url}/api/copilot/job/${jobId}/live/reader`);

/** The node of this name, as another one or itself shows it. */
export async function nodeSeen(by: Portal, name: string): Promise<NodeOfTest | undefined> {
  const { body } = await by.api<{ nodes: NodeOfTest[] }>("copilot/nodes");
  return body.nodes.find(node => node.name === name);
}

/** The runtimes of a node, each with whether it works on what can move. */
export async function agentsOf({ copilotHome, pid }: Portal): Promise<{ pid: number; movable: boolean }[]> {
  const pids = (await processesWith("COPILOT_HOME", copilotHome)).filter(other => other !== pid);
  const owners = await Promise.all(
    pids.map(async other => {
      const environment = await readFile(`/proc/${other}/environ`, "utf8").catch(() => "");
      const owner = environment.split("\0").find(entry => entry.startsWith("COPILOT_PORTAL_OWNER="));
      return owner === undefined ? [] : [{ pid: other, movable: owner.includes("/movable-"), owner }];
    }),
  );
  const all = owners.flat();
  // A runtime has processes of its own, with the same owner.
  return all.filter(({ owner }, index) => all.findIndex(other => other.owner === owner) === index);
}
