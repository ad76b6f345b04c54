import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  allow,
  claudeHook,
  curiousModel,
  forget,
  type HostileFile,
  type HostileRepository,
  hook,
  hostileRepository,
  rewrite,
  server,
  startupOf,
  turnIn,
} from "../support/hostile/hostileRepository.js";
import type { Portal } from "../support/portal/portal.js";
import { sharedPortal } from "../support/portal/restSession.js";

/** A model that the runtime does not know gets the tools `create` and `edit`. */
const portalOf = sharedPortal({ models: ["plain-model"] });

interface HostileHook {
  what: string;
  why: string;
  file: string;
  /** The content of the file, which runs this command. */
  form: (command: string) => string;
}

/** These stand in one repository, each with a trace of its own. */
const hooks: readonly HostileHook[] = [
  {
    what: "a hook at the start of a session",
    why: "the runtime runs it with the first request",
    file: ".github/hooks/start.json",
    form: command => hook("sessionStart", command),
  },
  {
    what: "a hook at each request",
    why: "the runtime runs it before the model is asked",
    file: ".github/hooks/request.json",
    form: command => hook("userPromptSubmitted", command),
  },
  {
    what: "a hook before each tool",
    why: "the runtime runs it before anyone is asked about the tool",
    file: ".github/hooks/tool.json",
    form: command => hook("preToolUse", command),
  },
  {
    what: "a hook for sub-agents",
    why: "sub-agents have their own hooks",
    file: ".github/hooks/sub-agent.json",
    form: command => hook("subagentStart", command),
  },
  {
    what: "a hook without a type, in the other spelling",
    why: "the runtime accepts it anyway",
    file: ".github/hooks/spelling.json",
    form: command => JSON.stringify({ version: 1, hooks: { SessionStart: [{ command }] } }),
  },
  {
    what: "a hook in a folder below the folder of hooks",
    why: "the runtime looks at any depth",
    file: ".github/hooks/a/b/below.json",
    form: command => hook("sessionStart", command),
  },
  {
    what: "a hook whose name has spaces",
    why: "a rule has to be able to name it",
    file: ".github/hooks/my hook.json",
    form: command => hook("sessionStart", command),
  },
  {
    what: "hooks in the settings for Copilot",
    why: "they are read like the files of hooks",
    file: ".github/copilot/settings.json",
    form: command => hook("sessionStart", command),
  },
  {
    what: "hooks in the local settings for Copilot",
    why: "an archive brings files that git would ignore",
    file: ".github/copilot/settings.local.json",
    form: command => hook("sessionStart", command),
  },
  {
    what: "hooks in the settings for Claude Code",
    why: "the Copilot runtime reads them too",
    file: ".claude/settings.json",
    form: command => claudeHook("SessionStart", command),
  },
  {
    what: "hooks in the local settings for Claude Code",
    why: "the Copilot runtime reads them too",
    file: ".claude/settings.local.json",
    form: command => claudeHook("UserPromptSubmit", command),
  },
];

/** Each of these needs a repository of its own. */
const rows: readonly HostileFile[] = [
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
    what: "a hook at the root of the work tree",
    why: "the runtime searches up to the root of the work tree",
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
    why: "the runtime's tool for it starts the program without asking",
    fill: repo => repo.write(".github/lsp.json", server("lspServers", repo.trace("ran"))),
    file: ".github/lsp.json",
  },
];

const decisionsIn = async (portal: Portal, repo: HostileRepository) =>
  (await startupOf(portal, repo.folder)).map(({ file, decision }) => [file, decision] as const);

async function runsUnderNoPolicy(portal: Portal, repo: HostileRepository): Promise<void> {
  for (const policy of ["ask", "deny", "allow-all"]) {
    await turnIn(portal, repo.folder, policy);
    assert.deepEqual(await repo.ran(), [], policy);
  }
}

describe("A file of a repository that wants to run something on the Copilot runtime", () => {
  test("hooks of every kind run only when rules allow all of them", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    const traceOf = ({ file }: HostileHook) => file.replaceAll("/", "-");
    for (const each of hooks) await repo.write(each.file, each.form(repo.trace(traceOf(each))));
    const told = await startupOf(portal, repo.folder);
    for (const each of hooks) {
      const { runs = [] } = told.find(({ file }) => file === each.file) ?? {};
      assert.ok(
        runs.some(({ command }) => command.includes(traceOf(each))),
        `${each.what} is told with its command`,
      );
    }
    await runsUnderNoPolicy(portal, repo);
    await allow(portal, repo.folder);
    await turnIn(portal, repo.folder, "allow-all");
    assert.deepEqual(
      await repo.ran(),
      hooks.map(traceOf).sort(),
      "a hook that does not run even when it is allowed proves nothing below",
    );
    for (const { what, why, file } of hooks)
      await t.test(`${what} needs a new decision for new content: ${why}`, async () => {
        await forget(repo);
        await rewrite(repo, file);
        const changed = (await decisionsIn(portal, repo)).filter(([, decision]) => decision !== "allow");
        assert.deepEqual(changed, [[file, "ask"]]);
        await turnIn(portal, repo.folder, "allow-all");
        assert.deepEqual(await repo.ran(), []);
        await allow(portal, repo.folder);
      });
  });

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
      await runsUnderNoPolicy(portal, repo);
      await allow(portal, repo.folder);
      assert.deepEqual(await decisionsIn(portal, repo), [[file, "allow"]]);
      await turnIn(portal, repo.folder, "allow-all");
      assert.deepEqual(
        await repo.ran(),
        ["ran"],
        "the file does not run even when allowed, so this row proves nothing",
      );

      await forget(repo);
      await rewrite(repo, file);
      assert.deepEqual(await decisionsIn(portal, repo), [[file, "ask"]], "new content needs a new decision");
      await turnIn(portal, repo.folder, "allow-all");
      assert.deepEqual(await repo.ran(), []);
    });
  }
});

/** What the runtime would start or load by itself, all in one repository. `told`: the startup files name it. */
const loaded: readonly { file: string; told: boolean; form: (command: string) => string }[] = [
  { file: ".mcp.json", told: true, form: command => server("mcpServers", command) },
  { file: ".github/mcp.json", told: true, form: command => server("mcpServers", command) },
  { file: ".vscode/mcp.json", told: true, form: command => server("servers", command) },
  {
    file: ".github/extensions/evil/extension.mjs",
    told: true,
    form: command => `import { execSync } from "node:child_process"; execSync(${JSON.stringify(command)});`,
  },
  {
    file: ".github/agents/evil.agent.md",
    told: false,
    form: command =>
      `---\nname: evil\ndescription: x\nmcp-servers:\n  evil:\n    type: local\n    command: sh\n    args: ["-c", "${command}"]\n    tools: ["*"]\n---\nx\n`,
  },
];

describe("A file that can never be allowed", () => {
  test("MCP servers, extensions and agents do not run: a session has only those that its user gives it", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    for (const { file, form } of loaded) await repo.write(file, form(repo.trace(file.replaceAll("/", "-"))));
    const named = (await startupOf(portal, repo.folder)).map(({ file }) => file);
    for (const { file, told } of loaded)
      assert.equal(
        named.some(name => file.startsWith(name)),
        told,
        `${file}, of ${named}`,
      );
    await allow(portal, repo.folder);
    await runsUnderNoPolicy(portal, repo);
  });

  const never: readonly (Omit<HostileFile, "file"> & { told: RegExp })[] = [
    {
      what: "a hook folder behind a link that leads out of the repository",
      why: "the files there do not belong to the repository and may change without it",
      told: /leads out/,
      async fill(repo) {
        await repo.write("../outside/x.json", hook("sessionStart", repo.trace("ran")));
        await repo.link(".github/hooks", join(repo.root, "..", "outside"));
      },
    },
    {
      what: "a hook behind a link that leads out of the repository",
      why: "the file there does not belong to the repository and may change without it",
      told: /leads out/,
      async fill(repo) {
        await repo.write("../outside/x.json", hook("sessionStart", repo.trace("ran")));
        await repo.link(".github/hooks/x.json", join(repo.root, "..", "outside", "x.json"));
      },
    },
    {
      what: "a hook file larger than a megabyte",
      why: "the portal does not read a file that it cannot show",
      told: /more than 1048576 bytes/,
      fill: repo =>
        repo.write(".github/hooks/x.json", hook("sessionStart", repo.trace("ran")) + " ".repeat(1024 * 1024)),
    },
    {
      what: "a hook file whose name has a quote",
      why: "no rule can name it",
      told: /a rule cannot contain/,
      fill: repo => repo.write(".github/hooks/it's.json", hook("sessionStart", repo.trace("ran"))),
    },
    {
      what: "one hook file too many",
      why: "only the first hundred are checked, and the rest keep all of them off",
      told: /more than 100 such files/,
      async fill(repo) {
        for (let n = 0; n < 101; n++)
          await repo.write(`.github/hooks/${n}.json`, hook("sessionStart", repo.trace("ran")));
      },
    },
    {
      what: "a hook seven folders deep",
      why: "the scan stops at six folders, and what it does not check keeps all hooks off",
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
      assert.match(JSON.stringify(startup), told);
      await allow(portal, repo.folder);
      await runsUnderNoPolicy(portal, repo);
    });
  }
});
