import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { parseRule, ruleText } from "../rules.js";
import { decideStartup, linesOf, switchesOf } from "./startup.js";
import { isStartupFile } from "./startupFiles.js";
import { readerOf, startupPlaces } from "./startupPlaces.js";
import { runsOf } from "./startupRuns.js";
import { scanStartup, startupFolders } from "./startupScan.js";

async function folderOf(t: TestContext): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "portal-startup-")));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "repo", ".github", "hooks"), { recursive: true });
  return join(folder, "repo");
}

const scan = async (folder: string) => scanStartup(await startupFolders(folder));

const hooks = JSON.stringify({ hooks: { sessionStart: [{ bash: "make check" }] } });

describe("The scan for files that want to run something always ends", () => {
  const rows: readonly [what: string, fill: (at: string) => Promise<unknown> | unknown, found: RegExp][] = [
    [
      "a pipe, which would wait for a writer",
      at => execFileSync("mkfifo", [join(at, "x.json")]),
      /not a regular file/,
    ],
    ["a folder with the name of a file", at => mkdir(join(at, "x.json")), /not a regular file/],
    ["a link to itself", at => symlink("x.json", join(at, "x.json")), /leads out/],
    [
      "a link that leads nowhere",
      at => symlink("gone.json", join(at, "x.json")),
      /cannot be read \(ENOENT\)/,
    ],
    ["a link to a device", at => symlink("/dev/zero", join(at, "x.json")), /leads out/],
    [
      "links to the folder itself",
      async at => {
        for (const name of "abcdefgh") await symlink(".", join(at, name));
        await writeFile(join(at, "x.json"), hooks);
      },
      /make check/,
    ],
    [
      "more names than any real folder has",
      async at => {
        for (let n = 0; n < 2100; n++) await writeFile(join(at, `${n}.txt`), "");
      },
      /more than 2000 names/,
    ],
    [
      "bytes that are not text",
      at => writeFile(join(at, "x.json"), Buffer.from([0xff, 0xfe, 0])),
      /not JSON/,
    ],
  ];
  for (const [what, fill, found] of rows) {
    test(`the scan reports ${what} and ends`, async t => {
      const folder = await folderOf(t);
      await fill(join(folder, ".github", "hooks"));
      const files = await scan(folder);
      assert.match(JSON.stringify(files), found);
      assert.ok(files.length <= 2, JSON.stringify(files));
    });
  }

  test("the scan finds nothing in a folder that does not exist", async () => {
    assert.deepEqual(await scan("/nowhere/at/all"), []);
  });

  test("the scan goes up to the root of the work tree and no further", async t => {
    const folder = await folderOf(t);
    await writeFile(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { a: { command: "above" } } }));
    const inner = join(folder, "inner");
    await mkdir(join(inner, "deep"), { recursive: true });
    execFileSync("git", ["init", "-q", inner]);
    await writeFile(join(inner, ".mcp.json"), JSON.stringify({ mcpServers: { a: { command: "own" } } }));
    assert.deepEqual(
      (await scan(join(inner, "deep"))).map(({ file }) => file),
      ["../.mcp.json"],
    );
  });
});

describe("What a file wants to run is described for people", () => {
  test("the description has no hidden characters and shows both ends of a long command", () => {
    const command = `echo a\u202egnp.exe\u200b\n${"x".repeat(5000)}; rm -rf /`;
    const [run] = runsOf("x.json", JSON.stringify({ hooks: { sessionStart: [{ bash: command }] } })) ?? [];
    assert.equal(run?.when, "at the start of a session");
    assert.match(
      run?.command ?? "",
      /^echo a\\u\{202e\}gnp\.exe\\u\{200b\}\\u\{a\}xxx.* more characters .*; rm -rf \/$/,
    );
  });

  test("the number of described commands is bounded", () => {
    const many = Array.from({ length: 500 }, (_, n) => ({ bash: `echo ${n}` }));
    const runs = runsOf("x.json", JSON.stringify({ hooks: { sessionStart: many } }));
    assert.equal(runs?.length, 21);
    assert.match(runs?.at(-1)?.when ?? "", /480 more/);
  });

  const rows: readonly [what: string, value: unknown, runs: string[] | undefined][] = [
    [
      "an MCP server",
      { mcpServers: { a: { command: "node", args: ["x.js"] } } },
      ["as MCP server a: node x.js"],
    ],
    [
      "a server with an environment",
      { servers: { a: { command: "x", env: { LD_PRELOAD: "./a.so" } } } },
      ['as MCP server a: x with {"LD_PRELOAD":"./a.so"}'],
    ],
    ["an unknown setting", { apiKeyHelper: "./key.sh" }, ["as the setting apiKeyHelper: ./key.sh"]],
    [
      "permissions for itself",
      { permissions: { allow: ["Bash"] } },
      ['as the setting permissions: {"allow":["Bash"]}'],
    ],
    ["hooks in an unexpected form", { hooks: "x" }, ["as a hook: x"]],
    ["a settings file that runs nothing", { $schema: "x", model: "y", hooks: {} }, undefined],
    ["an empty settings file", {}, undefined],
  ];
  for (const [what, value, runs] of rows) {
    test(`${what} is described as it would run`, () =>
      assert.deepEqual(
        runsOf("settings.json", JSON.stringify(value))?.map(({ when, command }) => `${when}: ${command}`),
        runs,
      ));
  }
});

describe("A rule about a file that wants to run something", () => {
  const sha256 = "0123456789abcdef".repeat(4);
  test("a startup rule is written as it is read", () => {
    for (const path of [".github/hooks/x.json", "../.mcp.json", "my hooks/x.json", "a$b/{c}.json"]) {
      const rule = { effect: "allow", about: "startup", words: [path, sha256] } as const;
      assert.deepEqual(parseRule(ruleText(rule)), rule);
    }
    assert.deepEqual(parseRule(`reject startup x.json ${sha256.toUpperCase()}`).words, ["x.json", sha256]);
  });

  for (const rest of [
    "",
    "x.json",
    `x.json ${sha256.slice(1)}`,
    sha256,
    `a b ${sha256}`,
    `'' ${sha256}`,
    `'a ${sha256}`,
  ])
    test(`the rule "allow startup" followed by ${JSON.stringify(rest)} is refused`, () =>
      assert.throws(() => parseRule(`allow startup ${rest}`), { code: "RuleInvalid" }));

  const file = { file: "x.json", sha256, runs: [], readers: ["copilot"] as const };
  const decision = (...rules: string[]) => decideStartup([file], rules.map(parseRule))[0]?.decision;
  test("a startup rule covers one path with one content, and rejecting rules win", () => {
    const other = sha256.replace("0", "1");
    assert.equal(decision(), "ask");
    assert.equal(
      decision(`allow startup y.json ${sha256}`, `allow startup x.json ${other}`, "allow edits"),
      "ask",
    );
    assert.equal(decision(`allow startup x.json ${sha256}`), "allow");
    assert.equal(decision(`allow startup x.json ${sha256}`, `reject startup x.json ${sha256}`), "reject");
  });

  test("a startup rule cannot allow a file that was not read", () => {
    const [unread] = decideStartup([{ ...file, sha256: "" }], [parseRule(`allow startup x.json ${sha256}`)]);
    assert.equal(unread?.decision, "ask");
  });

  test("a folder without startup files switches on only the user's own language servers", () => {
    assert.deepEqual(switchesOf([], "ask"), { hooks: false, languageServers: false });
    assert.deepEqual(switchesOf([], "allow-all"), { hooks: false, languageServers: true });
  });
});

describe("A command reveals which agent it starts, and so which files that agent reads", () => {
  const rows: readonly [command: string | undefined, args: string[], reader: string | undefined][] = [
    ["/usr/bin/copilot", ["--acp"], "copilot-cli"],
    ["opencode", ["acp"], "opencode"],
    ["npx", ["-y", "@zed-industries/claude-code-acp@0.5.0"], "claude"],
    ["C:\\tools\\gemini.cmd", ["--experimental-acp"], "gemini"],
    ["codex-acp", [], "codex"],
    ["my-agent", [], undefined],
    ["opencode", ["--and", "claude"], undefined],
    [undefined, [], undefined],
    ["constructor", [], undefined],
  ];
  for (const [command, args, reader] of rows)
    test(`${command} ${args.join(" ")} starts ${reader ?? "an unknown agent"}`, () =>
      assert.equal(readerOf(command, args), reader));

  test("no general permission to edit covers a startup file", () => {
    for (const { path, names } of startupPlaces) {
      const file = names ? `${path}/x.json` : path;
      for (const place of [file, `packages/one/${file}`]) assert.ok(isStartupFile(place), place);
    }
  });

  test("the lines that describe startup files are bounded", () => {
    const files = Array.from({ length: 200 }, (_, n) => ({
      file: `${n}\u202e${"x".repeat(1000)}`,
      sha256: "",
      runs: Array.from({ length: 21 }, () => ({ when: "now", command: "y".repeat(300) })),
      readers: [],
    }));
    const lines = linesOf(files);
    assert.equal(lines.length, 101);
    assert.ok(lines.every(line => line.length < 600 && !line.includes("\u202e")));
  });
});
