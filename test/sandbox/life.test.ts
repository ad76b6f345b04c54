import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { portalProgram } from "../../src/base/paths.js";
import { tempFolder } from "../support/cleanup.js";
import { lifeline } from "../support/lifeline.js";
import { runPortal } from "../support/portal/portal.js";
import { canary, sandboxedPortal } from "../support/portal/sandbox.js";
import { processesWith } from "../support/processes.js";
import { seen } from "../support/seen.js";

/** The runtimes in sandboxes, seen from outside: other runtimes share our PID namespace. */
async function sandboxedRuntimes(copilotHome: string): Promise<number[]> {
  const own = await readlink("/proc/self/ns/pid");
  const pids = await processesWith("COPILOT_HOME", copilotHome);
  const isSandboxed = await Promise.all(
    pids.map(async pid => {
      const name = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
      const namespace = await readlink(`/proc/${pid}/ns/pid`).catch(() => own);
      return name.startsWith("copilot-runtime") && namespace !== own;
    }),
  );
  return pids.filter((_, index) => isSandboxed[index]);
}

/** One for the tests that need nothing special; those that end it stand at the end of the file. */
const box = await sandboxedPortal({ after });

describe("A sandbox", () => {
  test("a sandbox cannot see the process that keeps it, and cannot outlive that process", async () => {
    const { portal, start, shell } = box;
    const said = await shell(await start(), "grep NSpid /proc/1/status; ls -d /proc/[0-9]* | wc -l");
    assert.match(said, /^NSpid:\s+1$/m, "inside, the first process is the sandbox's own");
    const [runtime] = await sandboxedRuntimes(portal.copilotHome);
    const status = await readFile(`/proc/${runtime}/status`, "utf8");
    // Its number outside, in the keeper's namespace, and in the sandbox.
    assert.match(status, /^NSpid:(?:\s+\d+){3}$/m);
  });

  test("when the runtime in a sandbox dies, the turn fails, and the next request continues the conversation in a new one", async t => {
    const { portal, model, start, shell, call } = box;
    const line = await lifeline(t);
    const id = await start();
    await shell(id, "echo the first command");
    await call(`copilot/session/${id}/query`, line.command);
    await line.started;
    const [runtime] = await sandboxedRuntimes(portal.copilotHome);
    assert.ok(runtime !== undefined);
    process.kill(runtime, "SIGKILL");
    await line.ended;
    assert.match(await shell(id, "echo the third command", 1), /^the third command$/m);
    const last = JSON.stringify(model.requests.at(-1)?.request.body.messages);
    assert.match(last, /the first command/);
  });
});

describe("The limits of a sandbox", () => {
  test("a portal that should use sandboxes does not start without bwrap, and says so in one line", async t => {
    const { code, stdout, stderr } = await runPortal(t, { args: ["--sandbox"], env: { PATH: "/nowhere" } });
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(
      stderr,
      /^--sandbox: bwrap is not installed\. On Debian and Ubuntu: apt-get install bubblewrap\.\n$/,
    );
  });

  test("a portal that should use sandboxes does not start where user namespaces are forbidden, and says so", async t => {
    const dataDir = await tempFolder(t);
    const portal = [process.execPath, portalProgram, "--sandbox", "--port", "0", "--data-dir", dataDir];
    const around = ["--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--cap-drop", "ALL", "--"];
    const ended = promisify(execFile)("bwrap", [...around, ...portal], { timeout: 20_000 });
    await assert.rejects(ended, (error: { code: number; stderr: string }) => {
      assert.equal(error.code, 1);
      assert.match(
        error.stderr,
        /^--sandbox: bwrap is installed but does not work here \(.+\)\. .*user namespaces\.\n$/,
      );
      return true;
    });
  });

  test("a session may use a sandbox on a portal without a token, and its agent cannot call the portal", async t => {
    const { portal, home, folder, call, start, shell } = await sandboxedPortal(t, { args: [] });
    const document = await call<{ sandbox: unknown }>(`copilot/folder?path=${encodeURIComponent(folder)}`);
    assert.deepEqual(document.sandbox, { available: true, chosen: false }, "the start form offers it");
    const boxed = await start("?sandbox=true");
    assert.match(await shell(boxed, `cat ${home}/.ssh/id_canary 2>&1`), /No such file/);
    const ways = ["api/copilot/session/history", `api/copilot/session/${boxed}/policy`, "mcp", "api/stop"];
    for (const way of ways) {
      const call = `fetch("${portal.url}/${way}", {method: "POST", body: "{}"}).then(r => console.log("status", r.status))`;
      assert.match(await shell(boxed, `node -e '${call}'`), /^status 403$/m, way);
    }
    const free = await start("?sandbox=false");
    assert.match(
      await shell(free, `cat ${home}/.ssh/id_canary`),
      new RegExp(canary),
      "other sessions continue as before",
    );
    const wrong = await fetch(`${portal.url}/api/copilot/session/start/x?sandbox=perhaps`, {
      method: "POST",
    });
    assert.equal(wrong.status, 400);
  });

  test("a folder that contains what a sandbox hides is refused with the reason", async () => {
    const { portal, home, call, model } = box;
    const inData = join(portal.dataDir, "inside");
    await mkdir(inData);
    const rows: [string, RegExp][] = [
      [home, /Your home folder is inside/],
      [join(home, ".."), /Your home folder is inside/],
      ["/", /Your home folder is inside/],
      [portal.dataDir, /The portal's data would not be hidden/],
      [inData, /The portal's data would not be hidden/],
      ["/proc/self", /not a folder of files/],
      ["/sys/kernel", /not a folder of files/],
    ];
    for (const [folder, why] of rows) {
      const answer = await call(`copilot/session/start/${model.modelId}`, folder);
      assert.equal(answer.error, "SandboxNotAvailable", folder);
      assert.match(String(answer.message), why);
    }
  });
});

describe("What else a sandbox shows", () => {
  test("a sandbox also shows what portal.config.json names, but never the keys in that file or the portal's data", async t => {
    const shown = await tempFolder(t, "sandbox-shown");
    await mkdir(join(shown, "data"));
    await writeFile(join(shown, "tool.txt"), "a tool of the user");
    const project = await tempFolder(t, "sandbox-project");
    const config = join(project, "portal.config.json");
    await writeFile(
      config,
      JSON.stringify({
        providers: [{ name: "own", baseUrl: "http://127.0.0.1:9/v1", apiKey: canary, models: ["m"] }],
        sandbox: { read: [shown, "~/.aws", "/does/not/exist"], write: ["~/cache"] },
      }),
    );
    const { home, start, shell } = await sandboxedPortal(t, {
      args: ["--sandbox", "--config", config],
      dataDir: join(shown, "data"),
    });
    await mkdir(join(home, "cache"));
    const id = await start("", project);
    const said = await shell(
      id,
      `cat ${shown}/tool.txt portal.config.json; ls -A ${shown}/data; touch ${shown}/x 2>&1; echo kept > ~/cache/file; mv portal.config.json away 2>&1; cat away portal.config.json`,
    );
    assert.match(said, /a tool of the user/);
    assert.match(said, /Read-only file system/);
    assert.doesNotMatch(said, new RegExp(canary));
    assert.doesNotMatch(said, /portal\.lock|^sandbox$/m);
    assert.equal(await readFile(join(home, "cache", "file"), "utf8"), "kept\n");
    assert.match(
      await shell(id, "cat ~/.aws/credentials"),
      new RegExp(canary),
      "a folder in the home that the settings name",
    );
  });
});

describe("The end of a sandbox", () => {
  test("a sandbox ends with everything in it when the portal is killed, and the next portal continues in a new one", async t => {
    const { portal, home, start, shell, call } = box;
    const line = await lifeline(t);
    const id = await start();
    await shell(id, "echo remembered > ~/kept.txt");
    await call(`copilot/session/${id}/query`, line.command);
    await line.started;
    await portal.kill("SIGKILL");
    await line.ended;
    // Nothing is left to sweep, as soon as the kernel is done with what it killed.
    await seen(async () => (await portal.processes()).length === 0);

    await portal.restart();
    const said = await shell(id, `cat ~/kept.txt ${home}/.ssh/id_canary 2>&1`, 1);
    assert.match(said, /^remembered$/m, "the sandbox's home is the same");
    assert.doesNotMatch(said, new RegExp(canary), "the session is still in a sandbox");
  });

  test("a sandbox also ends when the portal is stopped", async () => {
    const { portal, start, shell } = box;
    await shell(await start(), "sleep 1000 & echo started");
    assert.equal((await portal.kill("SIGTERM")).code, 0);
    assert.deepEqual(await portal.processes(), []);
  });
});
