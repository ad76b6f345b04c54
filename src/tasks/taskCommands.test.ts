import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NamedCommand } from "../commands/portalCommands.js";
import type { Asker } from "../permissions/approvals.js";
import { taskCommands } from "./taskCommands.js";

const asked: { asker: Asker; command: string | undefined }[] = [];
const ran: string[] = [];
let isAllowed = true;
const commands = taskCommands({
  commands: {
    async run({ run }) {
      ran.push(run.join(" "));
      return { exitCode: 0, durationMs: 1, tail: "" };
    },
  },
  approvals: {
    async permission(asker, { command }) {
      asked.push({ asker, command });
      return isAllowed ? { allowed: true, by: "user" } : { allowed: false, by: "user", reason: "Not here." };
    },
    turnEnded: () => {},
  },
  permissions: "ask",
});
const place = {
  taskId: "job.w",
  taskName: "check",
  workingDirectory: "/work",
  signal: new AbortController().signal,
  write: async () => {},
};
const command = (by: NamedCommand["by"]): NamedCommand => ({
  run: ["make check"],
  shell: true,
  timeoutMs: 1,
  by,
});

describe("A command that checks a task", () => {
  test("runs without a question when it is the user's own", async () => {
    assert.equal((await commands.run(command("user"), place)).exitCode, 0);
    assert.deepEqual([ran.splice(0), asked.splice(0)], [["make check"], []]);
  });

  test("needs the agent's permission when an agent reported it, and then runs", async () => {
    assert.equal((await commands.run(command("agent"), { ...place, permissions: "deny" })).exitCode, 0);
    const [{ asker, command: line } = {}] = asked.splice(0);
    assert.deepEqual([asker?.permissions, asker?.source, line], ["deny", "task", "make check"]);
    await commands.run(command("agent"), place);
    assert.equal(
      asked.splice(0)[0]?.asker.permissions,
      "ask",
      "the portal's policy where no session is known",
    );
    ran.splice(0);
  });

  test("does not run when it is rejected, and says why", async () => {
    isAllowed = false;
    const end = await commands.run(command("agent"), place);
    assert.deepEqual(end, { problem: "It was not allowed. Not here.", durationMs: 0, tail: "" });
    assert.deepEqual(ran, []);
  });
});
