import assert from "node:assert/strict";
import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fakeAgent, steps } from "../support/acp/acp.js";
import { tempFolder } from "../support/cleanup.js";
import { canary, sandboxedPortal } from "../support/portal/sandbox.js";

const settings = fakeAgent({}, { clientTerminal: true, clientFs: true });
const look = 'cat "$HOME/.ssh/id_canary" > seen.txt 2>&1; pwd >> seen.txt; exec "$0" "$@"';
const looking = { ...settings, command: "sh", args: ["-c", look, settings.command, ...settings.args] };
const config = join(await tempFolder({ after }), "portal.config.json");
const acpAgents = {
  fake: looking,
  files: fakeAgent({}, { clientFs: true }),
  elsewhere: { transport: "tcp", port: 9 },
};
await writeFile(config, JSON.stringify({ acpAgents }));
const { home, folder, start, ask, call } = await sandboxedPortal(
  { after },
  { args: ["--sandbox", "--config", config] },
);

describe("An ACP agent in a sandbox", () => {
  test("an ACP agent in a sandbox and its terminals see their folder, but nothing of the user's home", async () => {
    const id = await start("", folder, "acp:fake");
    const seen = await readFile(join(folder, "seen.txt"), "utf8");
    assert.match(seen, /id_canary: No such file/);
    assert.match(seen, new RegExp(`^${folder}$`, "m"));

    const script = `cat ${home}/.ssh/id_canary; echo "planted: $PLANTED"; echo written > by-terminal.txt; tr '\\0' '\\n' < /proc/1/environ`;
    const terminal = {
      command: "sh",
      args: ["-c", `${script} 2>&1`, `${home}/.ssh/id_canary`],
      env: [{ name: "PLANTED", value: "by the agent" }],
    };
    const calls = ["terminal/wait_for_exit", "terminal/output"];
    const said = JSON.stringify(await ask(id, steps({ terminal, calls })));
    assert.match(said, /id_canary: No such file/);
    assert.doesNotMatch(said, new RegExp(canary));
    assert.match(said, /planted: by the agent/);
    assert.doesNotMatch(said, /PLANTED=/, "bwrap, which runs outside, does not get the agent's variables");
    assert.equal(await readFile(join(folder, "by-terminal.txt"), "utf8"), "written\n");

    const refused = await call("copilot/session/start/acp:elsewhere", folder);
    assert.equal(refused.error, "SandboxNotAvailable");
    assert.match(String(refused.message), /does not start the agent at 127\.0\.0\.1:9/);
  });

  test("an ACP agent in a sandbox cannot make the portal, which is outside, read or write files for it", async () => {
    const gitSettings = join(folder, ".git", "config");
    const earlier = await readFile(gitSettings, "utf8");
    const id = await start("", folder, "acp:files");
    const content = "[core]\n\tfsmonitor = ./evil\n";
    const paths = [gitSettings, join(folder, ".git", "hooks", "post-checkout"), join(folder, ".envrc")];
    const said = await ask(
      id,
      steps(...paths.map(path => ({ ask: "fs/write_text_file", params: { path, content } })), {
        ask: "fs/read_text_file",
        params: { path: gitSettings },
      }),
    );
    const refused = said.filter(({ completeContent }) => /Method not found/.test(String(completeContent)));
    assert.equal(refused.length, paths.length + 1, JSON.stringify(said));
    assert.equal(await readFile(gitSettings, "utf8"), earlier);
    for (const path of paths.slice(1)) await assert.rejects(access(path), path);
  });
});
