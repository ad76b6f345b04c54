import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  claudeHook,
  curiousModel,
  type HostileRepository,
  hook,
  hostileRepository,
  server,
} from "./support/hostileRepository.js";
import type { Portal } from "./support/portal.js";
import { sessionById, sharedPortal } from "./support/restSession.js";
import type { AnyResponse } from "./support/sse.js";

/** Under a name that the runtime does not know, the model has the tools `create` and `edit`. */
const portalOf = sharedPortal({ models: ["plain-model"] });

interface StartupFile {
  file: string;
  sha256: string;
  runs: { when: string; command: string }[];
  decision: string;
}

async function startupOf(portal: Portal, folder: string): Promise<StartupFile[]> {
  const path = `copilot/folder?path=${encodeURIComponent(folder)}`;
  return (await portal.api<{ startup: StartupFile[] }>(path)).body.startup;
}

async function decide(portal: Portal, folder: string, effect: "allow" | "reject"): Promise<void> {
  for (const { file, sha256 } of await startupOf(portal, folder)) {
    const body = JSON.stringify({ folder, rule: `${effect} startup ${file} ${sha256}` });
    const { status } = await portal.api("copilot/permission/rules/add", { body });
    assert.equal(status, 200, file);
  }
}

async function startIn(portal: Portal, folder: string, policy: string) {
  const path = `copilot/session/start/plain-model?permissions=${policy}`;
  const { body } = await portal.api<{ sessionId?: string }>(path, { body: folder });
  assert.ok(body.sessionId, JSON.stringify(body));
  return sessionById(portal, body.sessionId);
}

/** One request in a new session, from its first event to its last. */
async function turnIn(portal: Portal, folder: string, policy: string): Promise<AnyResponse[]> {
  const session = await startIn(portal, folder, policy);
  await session.query("Look around");
  return session.untilIdle();
}

const notices = (responses: readonly AnyResponse[]) =>
  responses.filter(({ callback, title }) => callback === "onNotice" && /want to run/.test(String(title)));

interface Row {
  what: string;
  why: string;
  /** Where the session works, below the root. */
  below?: string;
  /** Fills the repository; what runs leaves the file `ran`. */
  fill(repo: HostileRepository): Promise<void>;
  /** The file that is told, as seen from the session's folder. */
  file: string;
}

const inFile = (path: string, form: (command: string) => string, below?: string, file = path) => ({
  fill: (repo: HostileRepository) => repo.write(path, form(repo.trace("ran"))),
  file,
  ...(below !== undefined && { below }),
});

const rows: readonly Row[] = [
  {
    what: "a hook at the start of a session",
    why: "the runtime runs it with the first request",
    ...inFile(".github/hooks/x.json", command => hook("sessionStart", command)),
  },
  {
    what: "a hook at each request",
    why: "the runtime runs it before the model is asked",
    ...inFile(".github/hooks/x.json", command => hook("userPromptSubmitted", command)),
  },
  {
    what: "a hook before each tool",
    why: "the runtime runs it before anyone is asked about the tool",
    ...inFile(".github/hooks/x.json", command => hook("preToolUse", command)),
  },
  {
    what: "a hook for sub-agents",
    why: "sub-agents have hooks of their own",
    ...inFile(".github/hooks/x.json", command => hook("subagentStart", command)),
  },
  {
    what: "a hook without a type, in the other spelling",
    why: "the runtime takes it all the same",
    ...inFile(".github/hooks/x.json", command =>
      JSON.stringify({ version: 1, hooks: { SessionStart: [{ command }] } }),
    ),
  },
  {
    what: "a hook in a folder below the folder of hooks",
    why: "the runtime looks at any depth",
    ...inFile(".github/hooks/a/b/x.json", command => hook("sessionStart", command)),
  },
  {
    what: "a hook whose name has spaces",
    why: "a rule has to be able to name it",
    ...inFile(".github/hooks/my hook.json", command => hook("sessionStart", command)),
    file: ".github/hooks/my hook.json",
  },
  {
    what: "a hook behind a link to another file of the repository",
    why: "the runtime follows links",
    async fill(repo) {
      await repo.write("docs/plain.txt", hook("sessionStart", repo.trace("ran")));
      await repo.link(".github/hooks/x.json", "../../docs/plain.txt");
    },
    file: ".github/hooks/x.json",
  },
  {
    what: "hooks in the settings for Copilot",
    why: "they are read like the files of hooks",
    ...inFile(".github/copilot/settings.json", command => hook("sessionStart", command)),
  },
  {
    what: "hooks in the local settings for Copilot",
    why: "an archive brings files that git would ignore",
    ...inFile(".github/copilot/settings.local.json", command => hook("sessionStart", command)),
  },
  {
    what: "hooks in the settings for Claude Code",
    why: "the Copilot runtime reads them too",
    ...inFile(".claude/settings.json", command => claudeHook("SessionStart", command)),
  },
  {
    what: "hooks in the local settings for Claude Code",
    why: "the Copilot runtime reads them too",
    ...inFile(".claude/settings.local.json", command => claudeHook("UserPromptSubmit", command)),
  },
  {
    what: "a hook at the root of the work tree",
    why: "the runtime goes up to where git begins",
    below: "packages/one",
    async fill(repo) {
      repo.git("init", "-q");
      await repo.write(".github/hooks/x.json", hook("sessionStart", repo.trace("ran")));
    },
    file: "../../.github/hooks/x.json",
  },
  {
    what: "a hook where a repository's own settings put its work tree",
    why: "the runtime asks git, and git obeys the settings",
    below: "inner",
    async fill(repo) {
      const inner = join(repo.root, "inner");
      await writeFile(join(inner, "file.ts"), "");
      repo.git("init", "-q", inner);
      repo.git("-C", inner, "config", "core.worktree", join(repo.root, "elsewhere"));
      await repo.write("elsewhere/.github/hooks/x.json", hook("sessionStart", repo.trace("ran")));
    },
    file: "../elsewhere/.github/hooks/x.json",
  },
  {
    what: "a language server",
    why: "the runtime's tool for it starts the program and asks nobody",
    ...inFile(".github/lsp.json", command => server("lspServers", command)),
  },
];

async function rewrite(repo: HostileRepository, file: string): Promise<void> {
  const path = join(repo.folder, file);
  await writeFile(path, `${await readFile(path, "utf8")}\n`);
}

describe("A file of a repository that wants to run something on the Copilot runtime", () => {
  for (const { what, why, below, fill, file } of rows) {
    test(`${what} runs only when a rule allows it: ${why}`, async t => {
      const { portal } = await portalOf(t, curiousModel);
      const repo = await hostileRepository(t, below);
      await fill(repo);
      const [told] = await startupOf(portal, repo.folder);
      assert.equal(told?.file, file);
      assert.ok(
        told.runs.some(({ command }) => command.includes("touch")),
        JSON.stringify(told),
      );

      for (const policy of ["ask", "deny", "allow-all"]) {
        await turnIn(portal, repo.folder, policy);
        assert.deepEqual(await repo.ran(), [], policy);
      }
      const rule = `allow startup '${file}' ${told.sha256}`;
      const body = JSON.stringify({ folder: repo.folder, rule });
      await portal.api("copilot/permission/rules/add", { body });
      assert.deepEqual(
        (await startupOf(portal, repo.folder)).map(({ decision }) => decision),
        ["allow"],
      );
      await turnIn(portal, repo.folder, "allow-all");
      assert.deepEqual(await repo.ran(), ["ran"], "it would not have run anyway, so this row proves nothing");

      await forget(repo);
      await rewrite(repo, file);
      assert.deepEqual(
        (await startupOf(portal, repo.folder)).map(({ decision }) => decision),
        ["ask"],
        "another content is another decision",
      );
      await turnIn(portal, repo.folder, "allow-all");
      assert.deepEqual(await repo.ran(), []);
    });
  }
});

async function forget(repo: HostileRepository): Promise<void> {
  for (const name of await repo.ran()) await rm(join(repo.root, "..", "ran", name));
}

describe("A file that can never be allowed", () => {
  const never: readonly (Omit<Row, "file"> & { told: RegExp | undefined })[] = [
    {
      what: "an MCP server in .mcp.json",
      why: "a session of the portal has only the servers that its user gives it",
      told: /\.mcp\.json/,
      fill: repo => repo.write(".mcp.json", server("mcpServers", repo.trace("ran"))),
    },
    {
      what: "an MCP server in .github/mcp.json",
      why: "the same",
      told: /\.github\/mcp\.json/,
      fill: repo => repo.write(".github/mcp.json", server("mcpServers", repo.trace("ran"))),
    },
    {
      what: "an MCP server in .vscode/mcp.json",
      why: "the same",
      told: /\.vscode\/mcp\.json/,
      fill: repo => repo.write(".vscode/mcp.json", server("servers", repo.trace("ran"))),
    },
    {
      what: "an extension",
      why: "extensions are not asked for",
      told: /\.github\/extensions/,
      fill: repo =>
        repo.write(
          ".github/extensions/evil/extension.mjs",
          `import { execSync } from "node:child_process"; execSync(${JSON.stringify(repo.trace("ran"))});`,
        ),
    },
    {
      what: "an agent file with an MCP server",
      why: "agents of the repository are no part of a session",
      told: undefined,
      fill: repo =>
        repo.write(
          ".github/agents/evil.agent.md",
          `---\nname: evil\ndescription: x\nmcp-servers:\n  evil:\n    type: local\n    command: sh\n    args: ["-c", "${repo.trace("ran")}"]\n    tools: ["*"]\n---\nx\n`,
        ),
    },
    {
      what: "a folder of hooks behind a link that leads out",
      why: "what stands there is not the repository's, and may change without it",
      told: /leads out/,
      async fill(repo) {
        await repo.write("../outside/x.json", hook("sessionStart", repo.trace("ran")));
        await repo.link(".github/hooks", join(repo.root, "..", "outside"));
      },
    },
    {
      what: "a hook behind a link that leads out",
      why: "the same",
      told: /leads out/,
      async fill(repo) {
        await repo.write("../outside/x.json", hook("sessionStart", repo.trace("ran")));
        await repo.link(".github/hooks/x.json", join(repo.root, "..", "outside", "x.json"));
      },
    },
    {
      what: "a file of hooks that is larger than a megabyte",
      why: "nobody reads what nobody can show",
      told: /more than 1048576 bytes/,
      fill: repo =>
        repo.write(".github/hooks/x.json", hook("sessionStart", repo.trace("ran")) + " ".repeat(1024 * 1024)),
    },
    {
      what: "a file of hooks whose name has a quote",
      why: "no rule can name it",
      told: /no rule can have/,
      fill: repo => repo.write(".github/hooks/it's.json", hook("sessionStart", repo.trace("ran"))),
    },
    {
      what: "one file of hooks too many",
      why: "the first hundred are looked at, and the rest keeps all off",
      told: /more than 100 such files/,
      async fill(repo) {
        for (let n = 0; n < 101; n++)
          await repo.write(`.github/hooks/${n}.json`, hook("sessionStart", repo.trace("ran")));
      },
    },
    {
      what: "a hook seven folders deep",
      why: "looking ends somewhere, and what is not looked at keeps all off",
      told: /folders deep/,
      fill: repo => repo.write(".github/hooks/1/2/3/4/5/6/x.json", hook("sessionStart", repo.trace("ran"))),
    },
  ];
  for (const { what, why, fill, told } of never) {
    test(`${what} does not run: ${why}`, async t => {
      const { portal } = await portalOf(t, curiousModel);
      const repo = await hostileRepository(t);
      await fill(repo);
      const startup = await startupOf(portal, repo.folder);
      if (told) assert.match(JSON.stringify(startup), told);
      else assert.deepEqual(startup, []);
      for (const file of startup.filter(({ sha256 }) => sha256 !== "")) {
        const rule = `allow startup '${file.file}' ${file.sha256}`;
        await portal.api("copilot/permission/rules/add", {
          body: JSON.stringify({ folder: repo.folder, rule }),
        });
      }
      for (const policy of ["ask", "deny", "allow-all"]) await turnIn(portal, repo.folder, policy);
      assert.deepEqual(await repo.ran(), []);
    });
  }
});

describe("The decision about a file that wants to run something", () => {
  const fillHook = (repo: HostileRepository) =>
    repo.write(".github/hooks/x.json", hook("sessionStart", repo.trace("ran")));

  test("is asked for once in a folder, with the commands and the place to decide", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await fillHook(repo);
    const [notice, more] = notices(await turnIn(portal, repo.folder, "ask"));
    assert.equal(more, undefined);
    assert.equal(notice?.severity, "warning");
    const text = String(notice?.text);
    assert.ok(
      text.includes(`.github/hooks/x.json runs at the start of a session: ${repo.trace("ran")}`),
      text,
    );
    assert.ok(text.includes(`permissions.html?folder=${encodeURIComponent(repo.folder)}`), text);
    assert.deepEqual(notices(await turnIn(portal, repo.folder, "ask")), [], "once is enough");
    await rewrite(repo, ".github/hooks/x.json");
    assert.equal(
      notices(await turnIn(portal, repo.folder, "ask")).length,
      1,
      "another content is told again",
    );
  });

  test("is not asked for when a rule rejects the file", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await fillHook(repo);
    await decide(portal, repo.folder, "reject");
    assert.deepEqual(notices(await turnIn(portal, repo.folder, "allow-all")), []);
    await decide(portal, repo.folder, "allow");
    await turnIn(portal, repo.folder, "allow-all");
    assert.deepEqual(await repo.ran(), [], "a rejecting rule wins");
  });

  test("about one file does not switch on another one", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await fillHook(repo);
    await decide(portal, repo.folder, "allow");
    await repo.write(".claude/settings.json", claudeHook("SessionStart", repo.trace("other")));
    await turnIn(portal, repo.folder, "ask");
    assert.deepEqual(await repo.ran(), []);
  });

  test("holds from the next request on, and so does its end", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await repo.write(".github/hooks/x.json", hook("userPromptSubmitted", repo.trace("ran")));
    const session = await startIn(portal, repo.folder, "ask");
    await session.query("Look around");
    await session.untilIdle(1);
    assert.deepEqual(await repo.ran(), []);
    await decide(portal, repo.folder, "allow");
    await session.query("Look again");
    await session.untilIdle(2);
    assert.deepEqual(await repo.ran(), ["ran"]);
    await forget(repo);
    const [{ sha256 = "" } = {}] = await startupOf(portal, repo.folder);
    const body = JSON.stringify({
      folder: repo.folder,
      rule: `allow startup .github/hooks/x.json ${sha256}`,
    });
    await portal.api("copilot/permission/rules/remove", { body });
    await session.query("And again");
    const responses = await session.untilIdle(3);
    assert.deepEqual(await repo.ran(), []);
    const gone = responses.filter(({ title }) => /memory of this conversation is gone/.test(String(title)));
    assert.deepEqual(gone, [], "the conversation goes on");
  });

  test("made between the start and the first request counts, and loses nothing", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await fillHook(repo);
    const session = await startIn(portal, repo.folder, "deny");
    await decide(portal, repo.folder, "allow");
    await session.query("Look around");
    const responses = await session.untilIdle();
    assert.deepEqual(await repo.ran(), ["ran"]);
    assert.ok(!JSON.stringify(responses).includes("memory of this conversation"));
  });

  test("leaves language servers off while anything is to be asked, because their tool asks nobody", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await repo.write(".github/lsp.json", server("lspServers", repo.trace("ran")));
    await decide(portal, repo.folder, "allow");
    for (const policy of ["ask", "deny"]) await turnIn(portal, repo.folder, policy);
    assert.deepEqual(await repo.ran(), []);
  });

  test("a file without anything that runs is none of them", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await repo.write(".claude/settings.json", JSON.stringify({ $schema: "x", model: "y", hooks: {} }));
    assert.deepEqual(await startupOf(portal, repo.folder), []);
  });

  test("broken JSON is told and keeps the others off", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await fillHook(repo);
    await decide(portal, repo.folder, "allow");
    await repo.write(".github/hooks/y.json", "[".repeat(200_000));
    const startup = await startupOf(portal, repo.folder);
    assert.deepEqual(
      startup.map(({ file, decision }) => [file, decision]),
      [
        [".github/hooks/x.json", "allow"],
        [".github/hooks/y.json", "ask"],
      ],
    );
    await turnIn(portal, repo.folder, "allow-all");
    assert.deepEqual(await repo.ran(), []);
  });
});
