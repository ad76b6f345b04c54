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
import { harmlessLines } from "../support/harmlessLines.js";
import { hostileLines } from "../support/hostileLines.js";
import { shells, watchedFolder } from "../support/watchedFolder.js";

const run = (command: string): Action => ({ kind: "execute", title: command, command });
const git = promisify(execFile);
const edit = (...paths: string[]): Action => ({ kind: "edit", title: "", paths });

/** What most users have allowed; a row adds its own. */
const usual = ["cat", "echo", "ls", "git status"];

/** A rule that no page would make allows nothing. */
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
    test(`allow command ${allowed}: ${JSON.stringify(line)}, because ${why}`, async () => {
      const rules = [...usual, allowed].flatMap(ruleFor);
      const verdict = await decide(run(line), folder, rules);
      assert.equal(verdict.decision, "ask", verdict.rules.join("; "));
      assert.match(verdict.why, /\.$|: /, "it says why it asks");
    });
});

test("the folder is watched: what reaches outside is noticed", async t => {
  const other = await watchedFolder(t);
  for (const [line, noticed] of [
    ["echo x > up/new", /changes something outside/],
    ["cat ../secret", /shows a secret/],
    ["cat /etc/passwd", /shows a secret/],
    ["cat sub/c*", /shows a secret/],
  ] as const)
    await assert.rejects(other.run("dash", line), noticed);
});

describe("A rule covers what is plainly harmless, and that touches nothing outside", () => {
  for (const line of harmlessLines)
    test(line, async () => {
      const rules = await rulesFor(run(line), folder, "allow");
      assert.notDeepEqual(rules, [], (await decide(run(line), folder, [])).why);
      assert.equal((await decide(run(line), folder, rules.map(parseRule))).decision, "allow");
      for (const shell of shells) await watched.run(shell, line);
    });
});

describe("Git is left to the user where the repository's own settings could run something", () => {
  const rules = ["git status", "git log"].flatMap(ruleFor);
  const config = (text: string) => (at: string) => appendFile(join(at, ".git", "config"), text);
  for (const [why, change] of [
    ["a program that watches files", config("[core]\n\tfsmonitor = ./x\n")],
    ["another spelling of it", config("[CORE]\n\tFsMonitor=./x\n")],
    ["a setting on the section's own line", config("[core] fsmonitor = ./x\n")],
    ["a setting that is quoted", config('[core]\n\tfsmonitor = "./x"\n')],
    ["a value that goes on", config("[core]\n\tfilemode = \\\n[user]\n\tname = x\n")],
    ["settings from elsewhere", config("[include]\n\tpath = ../x\n")],
    ["a diff program", config("[diff]\n\texternal = ./x\n")],
    ["a filter", config('[filter "x"]\n\tclean = ./x\n')],
    ["a pager", config("[core]\n\tpager = ./x\n")],
    ["an alias", config("[alias]\n\tst = !./x\n")],
    ["another working folder", config("[core]\n\tworktree = ../..\n")],
    [
      "a hook that runs whenever git looks",
      (at: string) => writeFile(join(at, ".git/hooks/post-index-change"), ""),
    ],
    [
      "the same hook elsewhere",
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
      "another repository inside",
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
      "a .git that is a file of somebody",
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
      "a .git in which git sees no repository, so that it looks above",
      (at: string) => rm(join(at, ".git/HEAD")),
    ],
    ["one with a HEAD that says nothing", (at: string) => writeFile(join(at, ".git/HEAD"), "x\n")],
    ["one without objects", (at: string) => rm(join(at, ".git/objects"), { recursive: true })],
    ["a folder of hooks with a comment behind it", config("[core]\n\thooksPath = evil ; x\n")],
    ["one with another comment", config("[core]\n\thooksPath=evil#x\n")],
    ["one with a tab, which git reads as a space", config("[core]\n\thooksPath = e\tvil\n")],
    ["one in the home folder", config("[core]\n\thooksPath = ~/evil\n")],
    ["one where git is installed", config("[core]\n\thooksPath = %(prefix)/evil\n")],
    [
      "objects of another repository",
      (at: string) => writeFile(join(at, ".git/objects/info/alternates"), "/tmp/other/.git/objects\n"),
    ],
    ["packs that are a link", (at: string) => symlink("/tmp/other", join(at, ".git/objects/pack/x.pack"))],
    ["a branch that is a link", (at: string) => symlink("/tmp/other", join(at, ".git/refs/heads/x"))],
    ["a list of branches that is a link", (at: string) => symlink("/tmp/x", join(at, ".git/packed-refs"))],
  ] as const)
    test(why, async t => {
      const at = await tempFolder(t);
      await git("git", ["init", "-q"], { cwd: at });
      assert.equal((await decide(run("git status"), at, rules)).decision, "allow", "before");
      await change(at);
      assert.equal((await decide(run("git status"), at, rules)).decision, "ask");
      assert.deepEqual(await rulesFor(run("git log"), at, "allow"), [], "nothing is offered either");
    });

  test("git grep goes through a link that has taken the place of a folder, so it is asked about", async t => {
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

  test("a folder below the repository's reaches outside itself; a worktree is a folder of its own", async t => {
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

test("a program that the folder brings along under a known name is not the known one", async t => {
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

describe("Edits are left to the user where something runs or obeys the file by itself", () => {
  const rules = [parseRule("allow edits")];
  const decision = async (action: Action, at: string) => (await decide(action, at, rules)).decision;
  for (const [path, why] of [
    [".git/config", "git's own settings"],
    [".devcontainer.json", "a container that an editor builds"],
    ["my.code-workspace", "tasks of a workspace"],
    [".vs/tasks.vs.json", "tasks of another editor"],
    [".nvim.lua", "a script of an editor"],
    [".dir-locals.el", "settings of another one"],
    ["mise.toml", "hooks of a shell"],
    [".mise.local.toml", "the same for this machine"],
    [".config/mise/config.toml", "the same in a folder"],
    [".roo/mcp.json", "servers of an agent"],
    [".crush.json", "those of another one"],
    [".aider.conf.yml", "commands of another one"],
    [".claude-plugin/plugin.json", "a plugin"],
    ["lefthook.toml", "hooks of git"],
    ["lefthook-local.yml", "the same for this machine"],
    [".simple-git-hooks.json", "hooks by another program"],
    ["githooks/pre-commit", "hooks in a folder without a dot"],
    ["sub/.git/hooks/pre-commit", "a repository inside"],
    [".GIT/config", "where files have no case"],
    [".git./config", "where dots at the end are nothing"],
    ["git~1/config", "the short name of Windows"],
    [".g\u200cit/config", "a name with a sign that some file systems ignore"],
    [".git", "the whole of it"],
    ["link-to-git/config", "through a link"],
    ["store/config", "where .git/modules leads, or any folder with a HEAD"],
    ["store/hooks/deep/x", "further below"],
    ["HEAD", "the beginning of a repository"],
    ["sub/HEAD", "anywhere"],
    [".github/hooks/x.json", "hooks of the Copilot runtime"],
    [".github/copilot/settings.json", "its settings"],
    [".GitHub/Hooks/x.json", "in any case"],
    [".claude/settings.local.json", "another agent's settings"],
    [".mcp.json", "MCP servers"],
    [".vscode/tasks.json", "what an editor runs"],
    [".envrc", "what a shell runs"],
    [".husky/pre-commit", "hooks of git"],
    ["opencode.json", "another agent"],
    ["gh/hooks/x.json", "the place to which .cursor is a link"],
    ["mcp-data.json", "the file to which .gemini/settings.json is a link"],
    ["sub", "a whole folder"],
    [".", "all of it"],
    ["up/x", "outside"],
    ["dangling", "outside, once it is there"],
  ] as const)
    test(`${path}: ${why}`, async t => {
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
      assert.equal(await decision({ ...edit("sub/plain.ts", path), kind: "move" }, at), "ask", "as a target");
      assert.equal(await decision(edit("sub/plain.ts"), at), "allow", "others are edited");
    });

  test("scripts/hooks/pre-commit: the repository's settings name that folder for hooks", async t => {
    const at = await tempFolder(t);
    await git("git", ["init", "-q"], { cwd: at });
    assert.equal(await decision(edit("scripts/hooks/pre-commit"), at), "allow", "nothing names it yet");
    await git("git", ["config", "core.hooksPath", "scripts/hooks"], { cwd: at });
    assert.equal(await decision(edit("scripts/hooks/pre-commit"), at), "ask", "before the folder is there");
    await mkdir(join(at, "scripts", "hooks"), { recursive: true });
    assert.equal(await decision(edit("scripts/hooks/pre-commit"), at), "ask");
    assert.equal(await decision(edit("scripts/other"), at), "allow", "others are edited");
  });
});

describe("However long the input, the answer is there at once", () => {
  const big = 1_000_000;
  const inputs: [string, Action][] = [
    ["one word", run("a".repeat(big))],
    ["many words", run("a ".repeat(big / 2))],
    ["many commands", run("a;".repeat(big / 2))],
    ["cd again and again", run("cd a;".repeat(1500))],
    ["blanks", run(`ls${" ".repeat(big)}`)],
    ["quotes", run("'".repeat(big))],
    ["line breaks", run("\n".repeat(big))],
    ["a long path within bounds", run(`cat ${"a/".repeat(4900)}b`)],
    ["paths that go up and down", run(`cat ${"sub/../".repeat(500)}x`)],
    ["as many of them as are looked at", run(`cat ${"sub/../".repeat(70)}x`)],
    ["as many words as there may be", run(`python3 ${"a,b=c:d ".repeat(490)}`)],
    [
      "as many different words",
      run(`python3 ${Array.from({ length: 490 }, (_, index) => `w${index}`).join(" ")}`),
    ],
    ["many paths", edit(...Array.from({ length: 100_000 }, (_, index) => `p${index}`))],
    ["one long path", edit("a/".repeat(big / 2))],
    ["a long name of a tool", { kind: "other", title: "", tool: "t".repeat(big) }],
  ];
  const rules = ["allow command cat", "allow command a", "reject command b", "allow edits"].map(parseRule);
  for (const [name, action] of inputs)
    test(name, async () => {
      const took: number[] = [];
      for (let round = 0; round < 5; round++) {
        // Of processor time, so that others on the machine do not count.
        const start = process.cpuUsage();
        await decide(action, folder, rules);
        await rulesFor(action, folder, "allow");
        took.push(process.cpuUsage(start).user / 1000);
      }
      assert.ok(Math.min(...took) < 50, `${Math.min(...took)} ms`);
    });
});
