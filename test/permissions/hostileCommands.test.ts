import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { appendFile, chmod, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { PortalError } from "../../src/base/portalError.js";
import type { Action } from "../../src/permissions/action.js";
import { decide, parseRule, type Rule, rulesFor } from "../../src/permissions/rules.js";
import { tempFolder } from "../support/cleanup.js";
import { harmlessLines } from "../support/hostile/harmlessLines.js";
import { hostileLines } from "../support/hostile/hostileLines.js";
import { shells, watchedFolder } from "../support/hostile/watchedFolder.js";
import { isWithin } from "../support/pace.js";

const run = (command: string): Action => ({ kind: "execute", title: command, command });
const git = promisify(execFile);
const edit = (...paths: string[]): Action => ({ kind: "edit", title: "", paths });

/** What most users have allowed; each row adds its own. */
const usual = ["cat", "echo", "ls", "git status"];

/** A rule that no page would offer allows nothing. */
function ruleFor(command: string): Rule[] {
  try {
    return [parseRule(`allow command ${command}`)];
  } catch (error) {
    if (error instanceof PortalError) return [];
    throw error;
  }
}

const watched = await watchedFolder({ after });
const { folder } = watched;

describe("A rule does not cover what its words do not say", () => {
  for (const [allowed, line, why] of hostileLines)
    test(`"allow command ${allowed}" does not cover ${JSON.stringify(line)}: ${why}`, async () => {
      const rules = [...usual, allowed].flatMap(ruleFor);
      const verdict = await decide(run(line), folder, rules);
      assert.equal(verdict.decision, "ask", verdict.rules.join("; "));
      assert.match(verdict.why, /\.$|: /, "the verdict says why the user is asked");
    });
});

test("the watched folder notices what reaches outside it", async t => {
  const other = await watchedFolder(t);
  for (const [line, noticed] of [
    ["echo x > up/new", /changes something outside/],
    ["cat ../secret", /shows a secret/],
    ["cat /etc/passwd", /shows a secret/],
    ["cat sub/c*", /shows a secret/],
  ] as const)
    await assert.rejects(other.run("dash", line), noticed);
});

describe("A rule covers plainly harmless commands, and these touch nothing outside", () => {
  for (const line of harmlessLines)
    test(`a rule covers ${JSON.stringify(line)}`, async () => {
      const rules = await rulesFor(run(line), folder, "allow");
      assert.notDeepEqual(rules, [], (await decide(run(line), folder, [])).why);
      assert.equal((await decide(run(line), folder, rules.map(parseRule))).decision, "allow");
      for (const shell of shells) await watched.run(shell, line);
    });
});

describe("The user decides about git where the repository's own settings could run something", () => {
  const rules = ["git status", "git log"].flatMap(ruleFor);
  const config = (text: string) => (at: string) => appendFile(join(at, ".git", "config"), text);
  for (const [why, change] of [
    ["a program that watches files", config("[core]\n\tfsmonitor = ./x\n")],
    ["the same setting in another spelling", config("[CORE]\n\tFsMonitor=./x\n")],
    ["a setting on the section's own line", config("[core] fsmonitor = ./x\n")],
    ["a quoted setting", config('[core]\n\tfsmonitor = "./x"\n')],
    ["a value that continues on the next line", config("[core]\n\tfilemode = \\\n[user]\n\tname = x\n")],
    ["settings from elsewhere", config("[include]\n\tpath = ../x\n")],
    ["a diff program", config("[diff]\n\texternal = ./x\n")],
    ["a filter", config('[filter "x"]\n\tclean = ./x\n')],
    ["a pager", config("[core]\n\tpager = ./x\n")],
    ["an alias", config("[alias]\n\tst = !./x\n")],
    ["another working folder", config("[core]\n\tworktree = ../..\n")],
    [
      "a hook that runs even when git only reads",
      (at: string) => writeFile(join(at, ".git/hooks/post-index-change"), ""),
    ],
    [
      "the same hook in another folder",
      async (at: string) => {
        await writeFile(join(at, "post-index-change"), "");
        await config("[core]\n\thooksPath = .\n")(at);
      },
    ],
    [
      "settings that are a link",
      async (at: string) => {
        await rm(join(at, ".git/config"));
        await symlink("../x", join(at, ".git/config"));
      },
    ],
    [
      "another repository inside this one",
      async (at: string) => {
        await git("git", ["init", "-q", "sub"], { cwd: at });
        const commit = [
          "-c",
          "user.name=A",
          "-c",
          "user.email=a@b",
          "commit",
          "-q",
          "--allow-empty",
          "-m",
          "x",
        ];
        await git("git", commit, { cwd: join(at, "sub") });
        await git("git", ["add", "sub"], { cwd: at });
      },
    ],
    [
      "a .git file that points elsewhere",
      async (at: string) => {
        await rm(join(at, ".git"), { recursive: true });
        await writeFile(join(at, ".git"), "gitdir: /tmp/other\n");
      },
    ],
    [
      "a .git that is a link",
      async (at: string) => {
        await rm(join(at, ".git"), { recursive: true });
        await symlink("../x", join(at, ".git"));
      },
    ],
    [
      "a bare repository in disguise",
      async (at: string) => {
        await rm(join(at, ".git"), { recursive: true });
        await writeFile(join(at, "HEAD"), "ref: refs/heads/main\n");
      },
    ],
    [
      "settings in another place that .git names",
      (at: string) => writeFile(join(at, ".git/commondir"), "../evil\n"),
    ],
    [
      "a .git that git does not accept, so that it looks further up",
      (at: string) => rm(join(at, ".git/HEAD")),
    ],
    ["a .git with a meaningless HEAD", (at: string) => writeFile(join(at, ".git/HEAD"), "x\n")],
    ["a .git without objects", (at: string) => rm(join(at, ".git/objects"), { recursive: true })],
    ["a hook folder with a trailing comment", config("[core]\n\thooksPath = evil ; x\n")],
    ["a hook folder with a comment that has no space before it", config("[core]\n\thooksPath=evil#x\n")],
    ["a hook folder with a tab, which git reads as a space", config("[core]\n\thooksPath = e\tvil\n")],
    ["a hook folder in the home folder", config("[core]\n\thooksPath = ~/evil\n")],
    ["a hook folder where git is installed", config("[core]\n\thooksPath = %(prefix)/evil\n")],
    [
      "objects of another repository",
      (at: string) => writeFile(join(at, ".git/objects/info/alternates"), "/tmp/other/.git/objects\n"),
    ],
    ["packs that are a link", (at: string) => symlink("/tmp/other", join(at, ".git/objects/pack/x.pack"))],
    ["a branch that is a link", (at: string) => symlink("/tmp/other", join(at, ".git/refs/heads/x"))],
    ["a list of branches that is a link", (at: string) => symlink("/tmp/x", join(at, ".git/packed-refs"))],
  ] as const)
    test(`the user is asked about git because of ${why}`, async t => {
      const at = await tempFolder(t);
      await git("git", ["init", "-q"], { cwd: at });
      assert.equal((await decide(run("git status"), at, rules)).decision, "allow", "before");
      await change(at);
      assert.equal((await decide(run("git status"), at, rules)).decision, "ask");
      assert.deepEqual(await rulesFor(run("git log"), at, "allow"), [], "no rule is offered either");
    });

  test("the user is asked about git grep when a link has replaced a folder, because git grep follows it", async t => {
    const at = await tempFolder(t);
    await mkdir(join(at, "one", "two"), { recursive: true });
    await writeFile(join(at, "one/two/secret"), "plain\n");
    await git("git", ["init", "-q"], { cwd: at });
    await git("git", ["add", "one"], { cwd: at });
    const decision = async () => (await decide(run("git grep x"), at, ruleFor("git grep"))).decision;
    assert.equal(await decision(), "allow");
    await rm(join(at, "one/two"), { recursive: true });
    await symlink("../..", join(at, "one/two"));
    assert.equal(await decision(), "ask");
  });

  test("the user is asked about git in a subfolder of a repository, but not in a worktree", async t => {
    const at = await tempFolder(t);
    const repository = join(at, "main");
    await mkdir(join(repository, "sub"), { recursive: true });
    await git("git", ["init", "-q"], { cwd: repository });
    const commit = ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"];
    await git("git", commit, { cwd: repository });
    await git("git", ["worktree", "add", "-q", join(at, "tree")], { cwd: repository });
    const decision = async (place: string) =>
      (await decide(run("git status"), join(at, place), rules)).decision;
    assert.equal(await decision("main"), "allow");
    assert.equal(await decision("main/sub"), "ask");
    assert.equal(await decision("tree"), "allow");
    await mkdir(join(at, "copy"));
    await writeFile(join(at, "copy", ".git"), `gitdir: ${join(repository, ".git/worktrees/tree")}\n`);
    assert.equal(await decision("copy"), "ask", "the worktree does not point back");
  });
});

test("a program of the folder under a known name does not count as the known program", async t => {
  const at = await tempFolder(t);
  const bin = join(at, "node_modules", ".bin");
  await mkdir(bin, { recursive: true });
  const path = process.env.PATH;
  t.after(() => {
    process.env.PATH = path;
  });
  process.env.PATH = `${bin}:${path}`;
  const decision = async () => (await decide(run("ls"), at, ruleFor("ls"))).decision;
  assert.equal(await decision(), "allow");
  await writeFile(join(bin, "ls"), "#!/bin/sh\n");
  await chmod(join(bin, "ls"), 0o755);
  assert.equal(await decision(), "ask");
});

describe("The user decides about edits to files that something runs or obeys by itself", () => {
  const rules = [parseRule("allow edits")];
  const decision = async (action: Action, at: string) => (await decide(action, at, rules)).decision;
  for (const [path, why] of [
    [".git/config", "git's own settings"],
    [".devcontainer.json", "a container that an editor builds"],
    ["my.code-workspace", "tasks of a workspace"],
    [".vs/tasks.vs.json", "tasks of Visual Studio"],
    [".nvim.lua", "a script that Neovim runs"],
    [".dir-locals.el", "settings that Emacs runs"],
    ["mise.toml", "hooks that mise runs in a shell"],
    [".mise.local.toml", "mise hooks for this machine"],
    [".config/mise/config.toml", "mise hooks in a folder"],
    [".roo/mcp.json", "MCP servers of Roo"],
    [".crush.json", "MCP servers of Crush"],
    [".aider.conf.yml", "commands that Aider runs"],
    [".claude-plugin/plugin.json", "a plugin"],
    ["lefthook.toml", "git hooks"],
    ["lefthook-local.yml", "git hooks for this machine"],
    [".simple-git-hooks.json", "git hooks of another program"],
    ["githooks/pre-commit", "git hooks in a folder without a dot"],
    ["sub/.git/hooks/pre-commit", "a repository inside"],
    [".GIT/config", "the same folder where file names ignore case"],
    [".git./config", "the same folder where trailing dots are ignored"],
    ["git~1/config", "the short name on Windows"],
    [".g\u200cit/config", "a name with a character that some file systems ignore"],
    [".git", "all of .git"],
    ["link-to-git/config", "git's own settings through a link"],
    ["store/config", "settings of any folder with a HEAD, such as a target of .git/modules"],
    ["store/hooks/deep/x", "hooks further down in such a folder"],
    ["HEAD", "the file that makes a folder a repository"],
    ["sub/HEAD", "anywhere"],
    [".github/hooks/x.json", "hooks of the Copilot runtime"],
    [".github/copilot/settings.json", "settings of the Copilot runtime"],
    [".GitHub/Hooks/x.json", "the same hooks in another case"],
    [".claude/settings.local.json", "settings of Claude Code"],
    [".mcp.json", "MCP servers"],
    [".vscode/tasks.json", "what an editor runs"],
    [".envrc", "what a shell runs"],
    [".husky/pre-commit", "git hooks"],
    ["opencode.json", "settings of opencode"],
    ["gh/hooks/x.json", "the target of the link .cursor"],
    ["mcp-data.json", "the target of the link .gemini/settings.json"],
    ["sub", "a whole folder"],
    [".", "the session's whole folder"],
    ["up/x", "a path outside"],
    ["dangling", "a link to a new file outside"],
  ] as const)
    test(`the user is asked about an edit of ${path}: ${why}`, async t => {
      const at = join(await tempFolder(t), "work");
      for (const name of [".git", "sub", "store/hooks", "gh/hooks", ".gemini"])
        await mkdir(join(at, name), { recursive: true });
      await writeFile(join(at, "store", "HEAD"), "");
      await writeFile(join(at, "mcp-data.json"), "");
      for (const [name, target] of [
        ["link-to-git", ".git"],
        [".cursor", "gh"],
        [".gemini/settings.json", "../mcp-data.json"],
        ["up", ".."],
        ["dangling", "../new"],
      ] as const)
        await symlink(target, join(at, name));
      assert.equal(await decision(edit(path), at), "ask");
      assert.equal(
        await decision({ ...edit("sub/plain.ts", path), kind: "move" }, at),
        "ask",
        "as the target of a move",
      );
      assert.equal(await decision(edit("sub/plain.ts"), at), "allow", "other files may be edited");
    });

  test("the user is asked about an edit in a folder that the repository's settings name for hooks", async t => {
    const at = await tempFolder(t);
    await git("git", ["init", "-q"], { cwd: at });
    assert.equal(await decision(edit("scripts/hooks/pre-commit"), at), "allow", "nothing names it yet");
    await git("git", ["config", "core.hooksPath", "scripts/hooks"], { cwd: at });
    assert.equal(await decision(edit("scripts/hooks/pre-commit"), at), "ask", "before the folder exists");
    await mkdir(join(at, "scripts", "hooks"), { recursive: true });
    assert.equal(await decision(edit("scripts/hooks/pre-commit"), at), "ask");
    assert.equal(await decision(edit("scripts/other"), at), "allow", "other files may be edited");
  });
});

describe("A decision comes at once, however long the input", () => {
  const big = 1_000_000;
  const inputs: [string, Action][] = [
    ["one word", run("a".repeat(big))],
    ["many words", run("a ".repeat(big / 2))],
    ["many commands", run("a;".repeat(big / 2))],
    ["many cd commands", run("cd a;".repeat(1500))],
    ["blanks", run(`ls${" ".repeat(big)}`)],
    ["quotes", run("'".repeat(big))],
    ["line breaks", run("\n".repeat(big))],
    ["a long path within bounds", run(`cat ${"a/".repeat(4900)}b`)],
    ["paths that go up and down", run(`cat ${"sub/../".repeat(500)}x`)],
    ["the largest number of such paths that is checked", run(`cat ${"sub/../".repeat(70)}x`)],
    ["the largest number of words that is read", run(`python3 ${"a,b=c:d ".repeat(490)}`)],
    [
      "the largest number of different words",
      run(`python3 ${Array.from({ length: 490 }, (_, index) => `w${index}`).join(" ")}`),
    ],
    ["many paths", edit(...Array.from({ length: 100_000 }, (_, index) => `p${index}`))],
    ["one long path", edit("a/".repeat(big / 2))],
    ["a long tool name", { kind: "other", title: "", tool: "t".repeat(big) }],
  ];
  const rules = ["allow command cat", "allow command a", "reject command b", "allow edits"].map(parseRule);
  for (const [name, action] of inputs)
    test(`a decision comes at once for ${name}`, async () => {
      const took: number[] = [];
      for (let round = 0; round < 5; round++) {
        // Processor time, so that other work on the machine does not count.
        const start = process.cpuUsage();
        await decide(action, folder, rules);
        await rulesFor(action, folder, "allow");
        took.push(process.cpuUsage(start).user / 1000);
      }
      const fastest = Math.min(...took);
      assert.ok(isWithin(fastest, 50), `${fastest} ms`);
    });
});
