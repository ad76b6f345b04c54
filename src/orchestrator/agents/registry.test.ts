import assert from "node:assert/strict";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { pino } from "pino";
import { defer, tempFolder } from "../../../test/support/cleanup.js";
import { agentRepo, agentText, writeAgent } from "../../../test/support/orchestrator/orchestratorRepo.js";
import { OrchestratorError } from "../orchestratorError.js";
import type { ProblemCode } from "./agentFile.js";
import { AgentFolder } from "./agentFolder.js";
import { expandTools } from "./agentTools.js";

function openFolder(
  t: TestContext,
  repoRoot: string,
  allowMcpServers = false,
  log = pino({ level: "silent" }),
) {
  const clock = { nowMs: 0 };
  const folder = new AgentFolder({
    repoRoot,
    allowMcpServers,
    log,
    nowMs: () => clock.nowMs,
  });
  defer(t, () => folder.close());
  return {
    folder,
    /** What a call sees one second later. */
    look() {
      clock.nowMs += 1001;
      return folder.current();
    },
  };
}

async function read(t: TestContext, files: Record<string, string>, allowMcpServers = false) {
  const snapshot = await openFolder(t, await agentRepo(t, files), allowMcpServers).look();
  return { agents: snapshot.registry.all(), problems: snapshot.problems, registry: snapshot.registry };
}

const good = agentText("name: good\ndescription: Good at it\nkeywords: [good]");

describe("a bad agent file is reported and hides no good one", () => {
  const loaded = 2;
  const cases: [ProblemCode, string, string, number][] = [
    ["no-front-matter", "bad.md", "", 1],
    ["no-front-matter", "bad.md", "# Only text", 1],
    ["no-front-matter", "bad.md", "---\nname: x\ndescription: never closed", 1],
    ["invalid-yaml", "bad.md", agentText("name: x\ndescription: this: breaks"), 1],
    ["invalid-yaml", "bad.md", agentText("- a\n- list"), 1],
    ["invalid-yaml", "bad.md", agentText("name: x\nname: y"), 1],
    ["invalid-yaml", "bad.md", agentText("name: !!js/function x"), 1],
    ["invalid-field", "bad.md", agentText("name: 12\ndescription: x"), 1],
    ["invalid-field", "bad.md", agentText("name: x\ndescription: [x]"), 1],
    ["invalid-field", "bad.md", agentText("name: x\ndescription: x\nkeywords: {a: 1}"), 1],
    ["invalid-field", "bad.md", agentText("name: x\ndescription: x\ntools: 5"), 1],
    ["invalid-field", "bad.md", agentText(`name: ${"x".repeat(101)}\ndescription: x`), 1],
    ["file-too-large", "bad.md", agentText("name: x\ndescription: x", "x".repeat(256 * 1024)), 1],
    ["duplicate-name", "h.md", agentText("name: GOOD\ndescription: x"), 1],
    ["missing-description", "bad.md", agentText("name: x"), loaded],
    ["empty-prompt", "bad.md", "---\nname: x\ndescription: y\n---\n", loaded],
    ["prompt-too-long", "bad.md", agentText("name: x\ndescription: y", "x".repeat(30_001)), loaded],
    ["unknown-tool", "bad.md", agentText("name: x\ndescription: y\ntools: [view, telepathy]"), loaded],
    [
      "mcp-servers-ignored",
      "bad.md",
      agentText("name: x\ndescription: y\nmcp-servers:\n  s: {command: x}"),
      loaded,
    ],
  ];
  for (const [code, file, content, agents] of cases) {
    test(`as ${code}: ${JSON.stringify(content.slice(0, 50))}`, async t => {
      const found = await read(t, { "good.md": good, [file]: content });
      assert.deepEqual(
        found.problems.map(problem => [problem.file, problem.code]),
        [[`.github/agents/${file}`, code]],
      );
      assert.equal(found.agents.length, agents);
      assert.equal(found.registry.get("good").name, "good");
    });
  }

  test("as shadowed: x.md beside x.agent.md", async t => {
    const found = await read(t, { "x.md": agentText("name: plain\ndescription: x"), "x.agent.md": good });
    assert.deepEqual(
      found.problems.map(({ file, code }) => [file, code]),
      [[".github/agents/x.md", "shadowed"]],
    );
    assert.deepEqual(
      found.agents.map(agent => [agent.id, agent.name]),
      [["x", "good"]],
    );
  });

  test("as outside-folder: a link that leads out of the folder", async t => {
    const root = await agentRepo(t, { "good.md": good });
    const outside = join(await tempFolder(t), "secret.md");
    await writeFile(outside, agentText("name: secret\ndescription: x"));
    await symlink(outside, join(root, ".github/agents/link.md"));
    const { registry, problems } = await openFolder(t, root).look();
    assert.deepEqual(
      problems.map(({ code }) => code),
      ["outside-folder"],
    );
    assert.equal(registry.all().length, 1);
  });

  test("as unreadable: a file that is not UTF-8, and a file in place of the folder", async t => {
    const root = await agentRepo(t, { "good.md": good });
    await writeAgent(root, "bad.md", Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe]));
    const first = await openFolder(t, root).look();
    assert.deepEqual(
      first.problems.map(({ code }) => code),
      ["unreadable"],
    );
    await rm(join(root, ".github/agents"), { recursive: true });
    await writeFile(join(root, ".github/agents"), "not a folder");
    const second = await openFolder(t, root).look();
    assert.deepEqual(
      second.problems.map(({ file, code }) => [file, code]),
      [[".github/agents", "unreadable"]],
    );
  });

  test("one broken file among five leaves four agents", async t => {
    const files = Object.fromEntries(
      [1, 2, 3, 4].map(i => [`a${i}.md`, agentText(`name: a${i}\ndescription: x`)]),
    );
    const found = await read(t, { ...files, "b.md": "broken" });
    assert.deepEqual([found.agents.length, found.problems.length], [4, 1]);
  });
});

describe("agent files", () => {
  test("are found at any depth of the folder, in the same order on every system", async t => {
    const text = agentText("description: x");
    const files = [
      "b.md",
      "B.md",
      "a/z.agent.md",
      "a/b/c.md",
      "a/b/c/too-deep.md",
      ".hidden.md",
      "x.MD",
      "x.txt",
    ];
    const found = await read(t, Object.fromEntries(files.map(file => [file, text])));
    assert.deepEqual(
      found.agents.map(agent => agent.id),
      ["B", "a--b--c", "a--z"],
    );
    // "b" differs from "B" only in its case.
    assert.deepEqual(
      found.problems.map(({ file }) => file),
      [".github/agents/b.md"],
    );
  });

  test("mean the same with a BOM, with CRLF and with any notation of keywords", async t => {
    const spellings = [
      "keywords: [Go, code-review, go]",
      "keywords:\n  - Go\n  - code-review\n  - ' '",
      "keywords: ['Go', \"code-review\"]",
      "keywords: Go, code-review, ",
      "metadata:\n  keywords: Go, code-review",
    ];
    const files = Object.fromEntries(
      spellings.map((line, i) => [`k${i}.md`, agentText(`description: x\n${line}`)]),
    );
    const crlf = `\uFEFF${files["k0.md"]}`.replaceAll("\n", "\r\n");
    const found = await read(t, { ...files, "crlf.md": crlf });
    assert.deepEqual(found.problems, []);
    assert.equal(found.agents.length, 6);
    for (const agent of found.agents) {
      assert.deepEqual(agent.keywords, ["go", "code-review"]);
      assert.equal(agent.keywordsDerived, false);
      assert.equal(agent.body, "You are an agent of the tests.");
    }
  });

  test("without keywords get them from the description", async t => {
    const { agents } = await read(t, {
      "a.md": agentText("description: Writes code for Kubernetes operators"),
    });
    assert.deepEqual(agents[0]?.keywords, ["writes", "kubernetes", "operators"].slice(1));
    assert.equal(agents[0]?.keywordsDerived, true);
  });

  test("do not take their name from a key inside another key", async t => {
    const { agents } = await read(t, {
      "a.md": agentText("metadata:\n  name: nested\ndescription: >\n  folded\n  text\n"),
    });
    assert.deepEqual([agents[0]?.name, agents[0]?.description], ["a", "folded text"]);
  });

  test("say whether their agent may be selected automatically", async t => {
    const flags = {
      on: "infer: true",
      off: "disable-model-invocation: true",
      old: "infer: false",
      wins: "infer: false\ndisable-model-invocation: false",
      editor: "target: vscode",
    };
    const files = Object.entries(flags).map(([name, line]) => [
      `${name}.md`,
      agentText(`description: x\n${line}`),
    ]);
    const { agents } = await read(t, Object.fromEntries(files));
    assert.deepEqual(
      agents.filter(agent => agent.autoSelect).map(agent => agent.name),
      ["on", "wins"],
    );
  });

  test("may set a time limit, models and MCP servers", async t => {
    const front = "description: x\ntimeout: 1m30s\nmodel: [a, b]\nmcp-servers:\n  s: {command: x}";
    const { agents, problems } = await read(t, { "a.md": agentText(front) }, true);
    assert.deepEqual(problems, []);
    assert.deepEqual(
      [agents[0]?.timeoutMs, agents[0]?.models, agents[0]?.mcpServers],
      [90_000, ["a", "b"], { s: { command: "x" } }],
    );
  });
});

describe("the registry", () => {
  const files = {
    "docs.agent.md": agentText("name: Docs-Writer\ndescription: x"),
    "code-reviewer.md": agentText("description: x"),
  };
  for (const name of ["Docs-Writer", " docs-writer ", "docs", "DOCS"]) {
    test(`finds Docs-Writer as ${JSON.stringify(name)}`, async t => {
      assert.equal((await read(t, files)).registry.get(name).name, "Docs-Writer");
    });
  }

  test("lists the closest names first when it does not find an agent", async t => {
    const { registry } = await read(t, { ...files, "a.md": agentText("description: x") });
    assert.throws(
      () => registry.get("code-reviwer"),
      (error: unknown) => {
        assert.ok(error instanceof OrchestratorError);
        assert.equal(error.code, "AGENT_NOT_FOUND");
        assert.equal(error.message, 'No agent named "code-reviwer".');
        assert.equal(error.details, "Did you mean code-reviewer? Available: code-reviewer, a, Docs-Writer");
        return true;
      },
    );
    assert.throws(() => registry.get("../../etc/passwd"), { code: "AGENT_NOT_FOUND" });
  });

  test("takes one agent per name, and none without a name", async t => {
    const { registry, agents } = await read(t, { "good.md": good });
    const [agent] = agents;
    assert.ok(agent);
    assert.throws(() => registry.add(agent), /already/);
    assert.throws(() => registry.add({ ...agent, name: " " }), /needs a name/);
  });
});

describe("agent files may change at any time", () => {
  test("files can be added, edited, broken and deleted, and so can the folder", async t => {
    const root = await tempFolder(t);
    const { look } = openFolder(t, root);
    const seen = async () => {
      const { registry, problems } = await look();
      return [registry.all().map(agent => agent.description), problems.map(({ code }) => code)];
    };
    assert.deepEqual(await seen(), [[], []]);
    await mkdir(join(root, ".github/agents"), { recursive: true });
    await writeAgent(root, "a.md", agentText("description: one"));
    assert.deepEqual(await seen(), [["one"], []]);
    const before = (await look()).registry;
    await writeAgent(root, "a.md", agentText("description: another"));
    await writeAgent(root, "b.md", agentText("description: two"));
    assert.deepEqual(await seen(), [["another", "two"], []]);
    await writeAgent(root, "a.md", "broken");
    assert.deepEqual(await seen(), [["two"], ["no-front-matter"]]);
    await rm(join(root, ".github/agents/a.md"));
    assert.deepEqual(await seen(), [["two"], []]);
    await rm(join(root, ".github/agents"), { recursive: true });
    assert.deepEqual(await seen(), [[], []]);
    // A run that began earlier keeps the agents that it saw.
    assert.deepEqual(
      before.all().map(agent => agent.description),
      ["one"],
    );
  });
});

describe("the tools of an agent are expanded to the runtime's names", () => {
  const cases: [string[], string[], string[]][] = [
    [["read", "Search"], ["view", "grep", "rg", "glob"], []],
    [["edit"], ["create", "edit", "apply_patch"], []],
    [["execute"], ["bash", "read_bash", "write_bash", "stop_bash", "list_bash"], []],
    [["web", "todo"], ["web_fetch", "update_todo"], []],
    [["agent"], ["task", "read_agent", "list_agents", "write_agent"], []],
    [["github/get_issue", "nonsense"], ["github-get_issue"], ["nonsense"]],
    [[], [], []],
  ];
  for (const [declared, names, unknown] of cases) {
    test(`for ${declared.join(", ") || "an empty list"}`, () => {
      const result = expandTools(declared, "linux");
      assert.deepEqual([result.names, result.unknown], [names, unknown]);
    });
  }
});

test("A repository without agents causes no warning", async t => {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: line => void lines.push(line) });
  const { look } = openFolder(t, await tempFolder(t, "agent-repo"), false, log);
  const { registry, problems } = await look();
  assert.deepEqual([registry.all(), problems], [[], []]);
  assert.deepEqual(
    lines.map(line => JSON.parse(line).level).filter(level => level !== "info" && level !== 30),
    [],
  );
});
