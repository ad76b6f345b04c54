import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { defer, type Scope, tempFolder } from "../cleanup.js";
import { entryOf, task } from "../jobs/jobs.js";
import { type Puppet, puppet } from "../model/puppet.js";
import { type ScriptedModel, startScriptedModel } from "../model/scriptedModel.js";
import { type Portal, type PortalOptions, startPortal } from "../portal/portal.js";
import { seen } from "../seen.js";
import type { Postgres } from "../store/postgres.js";
import { type Relay, startRelay } from "./relay.js";

/** All nodes of a pair accept it. */
const token = "a-token-for-all-nodes-0123456789";
const authorization = `Bearer ${token}`;

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** A node with those who call it. */
export interface NodeOfPair {
  readonly portal: Portal;
  /** Calls `api/copilot/PATH` with the token; with a body it is a POST. */
  call(path: string, init?: RequestInit): Promise<Response>;
  api(path: string, body?: string): Promise<Answer>;
  /** In a folder of its own unless one is given. */
  startSession(options?: { folder?: string; query?: string }): Promise<string>;
  /** A job of one task that waits for `puppet.release("held N")`. */
  startJob(folder?: string): Promise<string>;
}

export interface NodePair {
  readonly a: NodeOfPair;
  readonly b: NodeOfPair;
  /** The way from a to b. */
  readonly relay: Relay;
  readonly puppet: Puppet;
  readonly model: ScriptedModel;
  /** What has been notified at their database: `CHANNEL ID`. */
  readonly wakes: readonly string[];
  /** A new folder that both see; every other one is its node's own. */
  sharedFolder(): Promise<string>;
  /** Starts b again, after ending it if it still runs. */
  restartB(): Promise<void>;
}

const entry = entryOf({
  tasks: { held: { prompt: ["held", "@wait-each held"], model: { category: "driving" } } },
  jobs: { held: { work: task("held") } },
});

/** Two nodes on one database, `a` and `b`, and a network from a to b that the test can cut. */
export async function startNodePair(
  t: Scope,
  server: Postgres,
  { args = [] }: { args?: readonly string[] } = {},
): Promise<NodePair> {
  const own = puppet();
  const model = await startScriptedModel(t, { script: own.script });
  const folder = await tempFolder(t, "portal-nodes");
  const entryFile = join(folder, "entry.json");
  await writeFile(entryFile, JSON.stringify(entry));
  const sharedDir = await tempFolder(t, "portal-shared");
  const database = await server.newDatabase();
  const wakes = await notified(t, server.urlOf(database));
  const relay = await startRelay(t);
  const options = (name: string, more: readonly string[] = []): PortalOptions => ({
    model,
    args: [
      ...["--test", "--auth", "--entry", entryFile, "--node", name, "--shared-dir", sharedDir],
      ...args,
      ...more,
    ],
    env: {
      PORTAL_DATABASE_URL: server.urlOf(database),
      PORTAL_TEST_LEASE_MS: "6000",
      PORTAL_TOKEN: token,
    },
  });

  function nodeOf(portal: Portal): NodeOfPair {
    const call = (path: string, init: RequestInit = {}) =>
      fetch(`${new URL(portal.stopUrl).origin}/api/copilot/${path}`, {
        method: init.body === undefined ? "GET" : "POST",
        ...init,
        headers: { authorization, ...(init.headers as Record<string, string>) },
      });
    async function api(path: string, body?: string): Promise<Answer> {
      const answer = await call(path, body === undefined ? {} : { body });
      return { status: answer.status, body: (await answer.json()) as Answer["body"] };
    }
    async function idOf(path: string, body: string, name: "sessionId" | "jobId"): Promise<string> {
      const answer = await api(path, body);
      assert.equal(typeof answer.body[name], "string", JSON.stringify(answer));
      return String(answer.body[name]);
    }
    return {
      portal,
      call,
      api,
      startSession: async ({ folder: given, query = "" } = {}) =>
        idOf(`session/start/${model.modelId}${query}`, given ?? (await tempFolder(t)), "sessionId"),
      startJob: async given => idOf("job/start/held", `${given ?? (await tempFolder(t))}\n`, "jobId"),
    };
  }

  const [a, b] = await Promise.all([
    startPortal(t, options("a")),
    startPortal(t, options("b", ["--node-url", relay.url])),
  ]);
  const reachB = () => relay.leadTo(new URL(b.stopUrl).origin);
  reachB();
  await Promise.all([hasJoined(a), hasJoined(b)]);
  return {
    a: nodeOf(a),
    b: nodeOf(b),
    relay,
    puppet: own,
    model,
    wakes,
    sharedFolder: () => mkdtemp(join(sharedDir, "work-")),
    async restartB() {
      await b.restart();
      reachB();
      await relay.mend();
      await hasJoined(b);
    },
  };
}

/** The port opens before the node has joined. */
async function hasJoined(portal: Portal): Promise<void> {
  const url = `${new URL(portal.stopUrl).origin}/api/health`;
  await seen(async () => {
    const health = await fetch(url, { headers: { authorization } });
    return ((await health.json()) as { lease?: string }).lease === "held";
  });
}

async function notified(t: Scope, url: string): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  defer(t, () => client.end());
  const wakes: string[] = [];
  client.on("notification", ({ channel, payload }) => wakes.push(`${channel} ${payload}`));
  await client.query("listen portal_owner; listen portal_inbox");
  return wakes;
}
