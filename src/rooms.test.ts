import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, test } from "node:test";
import { packageRoot } from "./base/paths.js";

/** From the inside out: a room imports from those before it and never from those behind it. */
const rooms = [
  "base",
  "store",
  "guard",
  "api",
  "live",
  "search",
  "changes",
  "worktrees",
  "permissions",
  "sandbox",
  "backends",
  "commands",
  "nodes",
  "sessions",
  "jobs/definition",
  "tasks",
  "jobs",
  "tryIt",
  "orchestrator",
  "overview",
  "server",
  "editors",
];

/** Files whose place is fixed, and the room that each belongs to. */
const named: Readonly<Record<string, string>> = {
  "sharedApi.ts": "live",
  "copilotSession.ts": "sessions",
  "copilotApi.ts": "sessions",
  "currentPortal.ts": "sessions",
  "jobsDef.ts": "jobs/definition",
  "taskApi.ts": "jobs",
  "jobsChart.ts": "jobs",
  "jobsData.ts": "jobs",
  "jobsApi.ts": "jobs",
};

/** They put the rooms together and may import from all of them. */
const programs = ["portal.ts", "index.ts", "acp.ts", "mcp.ts", "editors/childPortal.ts"];

const source = join(packageRoot, "src");

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map(file => file.replaceAll("\\", "/"))
    .filter(file => file.endsWith(".ts") && !file.endsWith(".test.ts"));
}

function roomOf(file: string): string {
  const room = named[file] ?? rooms.findLast(name => file.startsWith(`${name}/`) && !isInner(file, name));
  assert.ok(room, `${file} is in no room`);
  return room;
}

/** Whether a file of this folder belongs to a room of its own within it. */
function isInner(file: string, room: string): boolean {
  return rooms.some(inner => inner.startsWith(`${room}/`) && file.startsWith(`${inner}/`));
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(source, file), "utf8");
  const specifiers = text.matchAll(/(?:from |import\()"(\.{1,2}\/[^"]+)\.js"/g);
  return [...specifiers].map(([, path]) => `${relative(source, join(source, dirname(file), path ?? ""))}.ts`);
}

/** The imports of these files that lead outwards, by words. */
function outwards(files: Readonly<Record<string, readonly string[]>>): string[] {
  return Object.entries(files)
    .filter(([file]) => !programs.includes(file))
    .flatMap(([file, imports]) =>
      imports
        .filter(
          target => programs.includes(target) || rooms.indexOf(roomOf(target)) > rooms.indexOf(roomOf(file)),
        )
        .map(target => `${file} imports ${target}`),
    );
}

describe("The rooms of the source", () => {
  test("An inner room knows nothing of an outer one", () => {
    const files = Object.fromEntries(sourceFiles(source).map(file => [file, importsOf(file)]));
    assert.ok(Object.values(files).flat().length > 500, "the imports were found");
    assert.deepEqual(outwards(files), []);
  });

  test("An import that leads outwards is found, in a room, from an inner room and into a program", () => {
    const wrong = {
      "base/text.ts": ["store/store.ts"],
      "jobs/definition/entry.ts": ["tasks/task.ts"],
      "live/log.ts": ["index.ts"],
      "copilotApi.ts": ["jobsApi.ts"],
    };
    assert.deepEqual(outwards(wrong).length, Object.keys(wrong).length);
    assert.deepEqual(
      outwards({ "jobs/engine/a.ts": ["jobs/definition/b.ts", "tasks/c.ts", "base/d.ts"] }),
      [],
    );
  });
});
