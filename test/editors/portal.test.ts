import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import {
  type AcpClient,
  acpEnvironment,
  rpcErrorOf,
  spawnAcp,
  startAcp,
  textOf,
} from "../support/acp/acpClient.js";
import { defer, tempFolder } from "../support/cleanup.js";
import { byPrompt, fault, startScriptedModel } from "../support/model/scriptedModel.js";
import { startPortal } from "../support/portal/portal.js";
import { processesWith } from "../support/processes.js";
import { seen } from "../support/seen.js";

/** An address where no one answers. */
async function deadAddress(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}`;
}

test("An editor without a running portal", async t => {
  const model = await startScriptedModel(t, byPrompt({ "hang on": [[fault.hang]] }));
  const home = await tempFolder(t, "acp-shared");
  const env: NodeJS.ProcessEnv = {
    ...acpEnvironment(home),
    COPILOT_PROVIDER_BASE_URL: model.baseUrl,
    COPILOT_PROVIDER_API_KEY: model.apiKey,
    COPILOT_PROVIDER_TYPE: "openai",
  };
  const cwd = await tempFolder(t, "acp-work");
  const server = await deadAddress();
  const args = ["--server", server];
  const running = () => processesWith("COPILOT_HOME", env.COPILOT_HOME ?? "");
  const gone = async () => {
    // The system reaps the last of them shortly after the program has ended.
    await seen(async () => (await running()).length === 0);
  };
  const talk = async (editor: AcpClient, text: string) => {
    const { sessionId } = await editor.newSession(cwd);
    await editor.prompt(sessionId, text);
    return textOf(editor.updates(sessionId), "agent_message_chunk");
  };

  await t.test(
    "a portal is started and ends with the editor, and a second editor that shared it continues",
    async t => {
      const first = await startAcp(t, { args: [...args, "--log-level", "debug"], env });
      assert.match(await talk(first, "hello"), /You said: .*hello/s);
      const second = await startAcp(t, { args, env });
      const { sessionId } = await second.newSession(cwd);
      await second.prompt(sessionId, "remember the word heron");

      await t.test("stdout carries nothing but ACP", async () => {
        first.child.stdin?.end();
        assert.equal(await first.exited, 0);
        for (const line of first.stdout.split("\n").filter(Boolean))
          assert.equal(JSON.parse(line).jsonrpc, "2.0");
        assert.match(first.stderr, /starting one/);
        assert.doesNotMatch(
          second.stderr,
          /starting one/,
          "two editors share the one that was started first",
        );
        assert.doesNotMatch(first.stderr, new RegExp(model.apiKey));
      });

      await t.test(
        "the second editor continues its conversation without the first one's portal",
        async () => {
          assert.deepEqual(await second.prompt(sessionId, "go on"), { stopReason: "end_turn" });
          const { request } = await model.waitForRequest(({ userText }) => userText.includes("go on"));
          assert.match(JSON.stringify(request.body.messages), /heron/);
        },
      );

      await t.test(
        "a started portal that is killed fails the turn at once, and the next prompt starts another",
        async () => {
          const prompted = rpcErrorOf(second.prompt(sessionId, "hang on, again"));
          await model.waitForRequest(({ userText }) => userText.includes("hang on, again"));
          for (const pid of await running()) if (pid !== second.child.pid) process.kill(pid, "SIGKILL");
          const { code, message } = await prompted;
          assert.equal(code, -32603);
          assert.match(message, /does not answer any more/);
          assert.deepEqual(await second.prompt(sessionId, "are you back?"), { stopReason: "end_turn" });
        },
      );

      second.child.stdin?.end();
      assert.equal(await second.exited, 0);
      await gone();
    },
  );

  await t.test(
    "another program at the address is not mistaken for a portal; the started one ends in mid-turn when the editor is killed",
    async t => {
      const stranger = createServer((_req, res) => res.end("<h1>hello</h1>")).listen(0, "127.0.0.1");
      defer(t, () => stranger.close());
      await once(stranger, "listening");
      const { port } = stranger.address() as AddressInfo;
      const editor = await startAcp(t, { args: ["--server", `http://127.0.0.1:${port}`], env });
      const { sessionId } = await editor.newSession(cwd);
      editor.prompt(sessionId, "hang on").catch(() => undefined);
      const request = await model.waitForRequest(({ userText }) => userText.endsWith("hang on"));
      editor.child.kill("SIGKILL");
      await editor.exited;
      assert.equal(await request.end, "hungUp");
      await gone();
    },
  );

  await t.test("the first session reports what keeps the portal from starting", async t => {
    const editor = await startAcp(t, { args, env: { ...env, XDG_STATE_HOME: "/dev/null" } });
    const { code, message } = await rpcErrorOf(editor.newSession(cwd));
    assert.equal(code, -32603);
    assert.match(message, /none can be started: .*cannot be used/);
  });
});

test("No portal is started for an address on another machine", async t => {
  const editor = await startAcp(t, { args: ["--server", "http://portal.invalid:8888"] });
  const { code, message } = await rpcErrorOf(editor.newSession("/tmp"));
  assert.equal(code, -32603);
  assert.equal(message, "No portal answers at http://portal.invalid:8888.");
});

test("A portal with --auth", async t => {
  const token = "a-token-for-this-test";
  const model = await startScriptedModel(t, byPrompt({}));
  const portal = await startPortal(t, { model, args: ["--auth"], env: { PORTAL_TOKEN: token } });
  const server = new URL(portal.url).origin;
  const cwd = await tempFolder(t, "acp-work");
  for (const [name, options] of [
    ["takes the token of the command line", { args: ["--server", server, "--token", token] }],
    ["takes the token of the environment", { args: ["--server", server], env: { PORTAL_TOKEN: token } }],
  ] as const)
    await t.test(name, async t => {
      const editor = await startAcp(t, options);
      const { sessionId } = await editor.newSession(cwd);
      assert.deepEqual(await editor.prompt(sessionId, "hello"), { stopReason: "end_turn" });
    });
  await t.test("an editor without the token cannot bypass it and learns what is missing", async t => {
    const editor = await startAcp(t, { args: ["--server", server] });
    const { code, message } = await rpcErrorOf(editor.newSession(cwd));
    assert.equal(code, -32603);
    assert.match(message, /--token or PORTAL_TOKEN/);
  });
});

test("The command line of the ACP program", async t => {
  await t.test("a wrong command line is explained, and stdout stays empty", async t => {
    for (const [args, words] of [
      [["--server", "nonsense"], /--server nonsense: must be the http or https address/],
      [["--colour"], /[Uu]nknown argument.*colour/],
      [["extra"], /[Uu]nknown argument.*extra/],
    ] as const) {
      const { output, exited } = await spawnAcp(t, { args });
      assert.equal(await exited, 1);
      assert.equal(output.stdout, "");
      assert.match(output.stderr, words);
    }
  });

  await t.test("a portal that is its own agent goes no deeper than two levels", async t => {
    const { output, exited } = await spawnAcp(t, { env: { COPILOT_PORTAL_ACP_DEPTH: "2" } });
    assert.equal(await exited, 1);
    assert.equal(output.stdout, "");
    assert.match(output.stderr, /goes no deeper/);
  });

  await t.test("sign-in runs the Copilot CLI or says how to get it", async t => {
    const empty = await tempFolder(t);
    const { output, exited } = await spawnAcp(t, { args: ["--login"], env: { PATH: join(empty) } });
    assert.equal(await exited, 1);
    assert.match(output.stderr, /npx @github\/copilot login/);
  });
});
