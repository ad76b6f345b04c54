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
import { sharedPortal } from "../support/portal/restSession.js";

/** A model that the runtime does not know gets the tools `create` and `edit`. */
const portalOf = sharedPortal({ models: ["plain-model"] });

const inFile = (path: string, form: (command: string) => string, below?: string, file = path) => ({
  fill: (repo: HostileRepository) => repo.write(path, form(repo.trace("ran"))),
  file,
  ...(below !== undefined && { below }),
});

const rows: readonly HostileFile[] = [
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
    why: "sub-agents have their own hooks",
    ...inFile(".github/hooks/x.json", command => hook("subagentStart", command)),
  },
  {
    what: "a hook without a type, in the other spelling",
    why: "the runtime accepts it anyway",
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
    ...inFile(".github/lsp.json", command => server("lspServers", command)),
  },
];

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
      await allow(portal, repo.folder);
      assert.deepEqual(
        (await startupOf(portal, repo.folder)).map(({ decision }) => decision),
        ["allow"],
      );
      await turnIn(portal, repo.folder, "allow-all");
      assert.deepEqual(
        await repo.ran(),
        ["ran"],
        "the file does not run even when allowed, so this row proves nothing",
      );

      await forget(repo);
      await rewrite(repo, file);
      assert.deepEqual(
        (await startupOf(portal, repo.folder)).map(({ decision }) => decision),
        ["ask"],
        "new content needs a new decision",
      );
      await turnIn(portal, repo.folder, "allow-all");
      assert.deepEqual(await repo.ran(), []);
    });
  }
});

describe("A file that can never be allowed", () => {
  const never: readonly (Omit<HostileFile, "file"> & { told: RegExp | undefined })[] = [
    {
      what: "an MCP server in .mcp.json",
      why: "a session of the portal has only the servers that its user gives it",
      told: /\.mcp\.json/,
      fill: repo => repo.write(".mcp.json", server("mcpServers", repo.trace("ran"))),
    },
    {
      what: "an MCP server in .github/mcp.json",
      why: "a session of the portal has only the servers that its user gives it",
      told: /\.github\/mcp\.json/,
      fill: repo => repo.write(".github/mcp.json", server("mcpServers", repo.trace("ran"))),
    },
    {
      what: "an MCP server in .vscode/mcp.json",
      why: "a session of the portal has only the servers that its user gives it",
      told: /\.vscode\/mcp\.json/,
      fill: repo => repo.write(".vscode/mcp.json", server("servers", repo.trace("ran"))),
    },
    {
      what: "an extension",
      why: "the portal does not ask the runtime for extensions",
      told: /\.github\/extensions/,
      fill: repo =>
        repo.write(
          ".github/extensions/evil/extension.mjs",
          `import { execSync } from "node:child_process"; execSync(${JSON.stringify(repo.trace("ran"))});`,
        ),
    },
    {
      what: "an agent file with an MCP server",
      why: "a session does not load the repository's agents",
      told: undefined,
      fill: repo =>
        repo.write(
          ".github/agents/evil.agent.md",
          `---\nname: evil\ndescription: x\nmcp-servers:\n  evil:\n    type: local\n    command: sh\n    args: ["-c", "${repo.trace("ran")}"]\n    tools: ["*"]\n---\nx\n`,
        ),
    },
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
      if (told) assert.match(JSON.stringify(startup), told);
      else assert.deepEqual(startup, []);
      await allow(portal, repo.folder);
      for (const policy of ["ask", "deny", "allow-all"]) await turnIn(portal, repo.folder, policy);
      assert.deepEqual(await repo.ran(), []);
    });
  }
});
