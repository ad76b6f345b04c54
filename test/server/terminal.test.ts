import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { portalProgram } from "../../src/base/paths.js";
import type { PermissionPolicy } from "../../src/permissions/approvals.js";
import { startLines } from "../../src/server/startLines.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { smallEntry } from "../support/jobs/entries.js";

/** What a person sees at the terminal after starting the portal, until `isEnough`. */
async function seenAtTerminal(
  t: TestContext,
  args: string,
  isEnough = (lines: string[]) => lines.length > 5,
): Promise<string[]> {
  const dataDir = await tempFolder(t, "portal-data");
  const command = `${process.execPath} ${portalProgram} --port 0 --data-dir ${dataDir} ${args}`;
  // util-linux's script gives it its own terminal. A shell that stayed beside the portal would get Ctrl+C too, and
  // dash then returns 130, whatever the portal's exit code.
  const child = spawn("script", ["-qec", `exec ${command}`, "/dev/null"], {
    env: { ...process.env, SHELL: "/bin/sh" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  defer(t, () => {
    child.kill("SIGKILL");
    return exited;
  });
  let text = "";
  await new Promise<void>(resolve => {
    child.stdout.setEncoding("utf8").on("data", chunk => {
      text += chunk;
      if (isEnough(text.split("\r\n"))) resolve();
    });
    exited.then(() => resolve());
  });
  // Ctrl+C, as a terminal sends it.
  child.stdin.write("\u0003");
  assert.deepEqual(await exited, [0, null]);
  return text.split("\r\n");
}

const quiet = "--test --log-level silent";

describe("A portal that a person starts at a terminal", () => {
  test("the portal says where it is, what agents may do and how to stop it", async t => {
    const [url = "", stop, ...rest] = await seenAtTerminal(t, "--test");
    assert.match(url, /^http:\/\/localhost:\d+$/);
    assert.equal(stop, `${url}/api/stop`);
    assert.deepEqual(rest.slice(0, 3), startLines({ url, permissions: "allow-all", sandbox: false }));
    // Ctrl+C may come while the new store is being written.
    assert.doesNotMatch(rest.join("\n"), /without its template/);
  });

  const policies = {
    "allow-all": /^Permissions: everything is allowed \(--permissions allow-all\)/,
    ask: /^Permissions: agents ask first \(--permissions ask\)/,
    deny: /^Permissions: nothing is allowed \(--permissions deny\)/,
  };
  for (const [permissions, line] of Object.entries(policies))
    test(`the portal says what the policy ${permissions} means`, () => {
      const url = "http://localhost:1";
      const started = { url, permissions: permissions as PermissionPolicy, sandbox: false };
      const [where, may = "", how] = startLines(started);
      assert.deepEqual([where, how], [`Copilot Portal is at ${url}`, "Stop it with Ctrl+C"]);
      assert.match(may, line);
    });

  test("the portal does not repeat its token in those lines", async t => {
    const lines = await seenAtTerminal(t, `${quiet} --auth`);
    const token = new URL(lines[0] ?? "").searchParams.get("token") ?? "";
    assert.ok(token.length > 20);
    assert.ok(!lines.slice(1).join().includes(token));
  });

  test("the portal writes a log that people can read, and nothing in it moves the cursor", async t => {
    const file = join(await tempFolder(t), "entry.json");
    const entry = smallEntry(small => {
      small.models.driving = "demo";
      small["evil\u009b2J\u202e"] = 1;
    });
    await writeFile(file, JSON.stringify(entry));
    const lines = await seenAtTerminal(t, `--demo --entry ${file} --log-level warn`);
    const told = lines.find(line => line.includes("Unknown property"));
    assert.match(
      told ?? "",
      /^\d\d:\d\d:\d\d warn {2}entry\["evil\\u\{9b\}2J\\u\{202e\}"\]: Unknown property; it is ignored\. entry=\S+entry\.json$/,
    );
    assert.doesNotMatch(lines.join("\n"), /[\u009b\u202e]/);
  });
});
