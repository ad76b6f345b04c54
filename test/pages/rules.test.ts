import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { diffArrays } from "diff";
import { packageRoot } from "../../src/base/paths.js";
import { cpuMsOf } from "../support/pace.js";

/** Loads the rules of the pages that need no browser. */
const load = (name: string) => import(pathToFileURL(join(packageRoot, "assets", name)).href);
type DiffLine = { kind: string; text: string; line?: number };
const rules = (await load("lib/diff.js")) as {
  diffLines(compare: typeof diffArrays, before: string, after: string): DiffLine[];
  isUnifiedDiff(text: string): boolean;
  parseUnifiedDiff(text: string): DiffLine[];
};
const { isUnifiedDiff, parseUnifiedDiff } = rules;
const diffLines = (before: string, after: string) => rules.diffLines(diffArrays, before, after);
const { toolTitle, readShellOutput } = (await load("session/toolCall.js")) as {
  toolTitle(name: string, args: unknown): string;
  readShellOutput(content: string): { output: string; exitCode?: number };
};
type TerminalText = { output: string; looks: { at: number; look: string }[] };
const { terminalText } = (await load("session/terminalText.js")) as {
  terminalText(content: string): TerminalText;
};
const { formatDuration, formatSize, formatUsage, formatTime } = (await load("lib/format.js")) as {
  formatDuration(ms: number): string;
  formatSize(size: number): string;
  formatUsage(usage: object | undefined): string;
  formatTime(time: Date, now: Date): string;
};
const { PendingRequests } = (await load("session/pendingRequests.js")) as {
  PendingRequests: new () => {
    readonly count: number;
    begin(id?: string): void;
    end(id?: string): void;
    know(ids: string[]): void;
  };
};
const { visibleLine } = (await load("lib/visibleText.js")) as { visibleLine(text: string): string };
const { endsOf } = (await load("lib/textEnds.js")) as {
  endsOf(
    text: string,
    limit: { lines: number; chars: number },
  ): { first: string; hidden: string; last: string };
};
const { looksLikeMarkdown } = (await load("lib/markdownSigns.js")) as {
  looksLikeMarkdown(text: string): boolean;
};
const { JobState } = (await load("job/jobState.js")) as { JobState: new () => JobStateLike };
const { layOutBars } = (await load("job/timeline.js")) as {
  layOutBars(runs: object[], now: number): { left: number; width: number; isSlowest: boolean }[];
};

interface Tab {
  name: string;
  responses: Record<string, unknown>[];
}
interface RunLike {
  asked: { isOpen: boolean }[];
  round: number;
  status: string;
  attempt: number;
  attempts?: number;
  verdict: string;
  tabs: Tab[];
  usage: { inputTokens: number };
}
interface JobStateLike {
  status: string;
  error: string;
  canRetry: boolean;
  runs: Map<number, RunLike>;
  allRuns: RunLike[];
  apply(event: object): void;
}

describe("diffs", () => {
  const signs = (lines: DiffLine[]) => lines.map(({ kind, text }) => `${kind[0]}${text}`);

  it("are shown line by line, with unchanged lines around them", () => {
    assert.deepEqual(signs(diffLines("a\nb\nc\nd", "a\nx\nc\nd\ne")), ["sa", "rb", "ax", "sc", "sd", "ae"]);
    assert.deepEqual(signs(diffLines("", "new\nfile")), ["anew", "afile"]);
    assert.deepEqual(signs(diffLines("gone", "")), ["rgone"]);
    assert.deepEqual(signs(diffLines("same", "same")), ["ssame"]);
  });

  it("are quick even when two large texts have nothing in common", () => {
    const lines = diffLines(
      Array.from({ length: 20_000 }, (_, n) => `a${n}`).join("\n"),
      Array.from({ length: 20_000 }, (_, n) => `b${n}`).join("\n"),
    );
    assert.equal(lines.length, 40_000);
  });

  it("are read from a unified diff without its file headers", () => {
    const diff =
      "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n";
    assert.ok(isUnifiedDiff(diff));
    assert.ok(!isUnifiedDiff("--- a list\n+++ of signs"));
    assert.deepEqual(signs(parseUnifiedDiff(diff)), ["h@@ -1,2 +1,2 @@", "sone", "rtwo", "a2"]);
  });

  it("number the removed lines as in the text before, and the others as in the text after", () => {
    const diff = "--- a/x\n+++ b/x\n@@ -7 +9,2 @@ f()\n-old\n+new\n+more\n@@ -20,2 +23 @@\n same\n-gone\n";
    const numbers = parseUnifiedDiff(diff).map(({ kind, line }) => `${kind[0]}${line ?? ""}`);
    assert.deepEqual(numbers, ["h", "r7", "a9", "a10", "h", "s23", "r21"]);
    assert.deepEqual(
      parseUnifiedDiff("@@ what @@\n+x").map(({ line }) => line),
      [undefined, 0],
    );
  });
});

describe("the title of a tool block", () => {
  it("is the tool and the subject of the call, in one line", () => {
    assert.equal(toolTitle("bash", '{"command":"npm test\\nls","description":"x"}'), "bash: npm test …");
    assert.equal(toolTitle("view", '{"path":"/a.ts","view_range":[1,20]}'), "view: /a.ts · [1,20]");
    assert.equal(toolTitle("grep", '{"pattern":"x","paths":"src"}'), "grep: x · src");
    assert.equal(toolTitle("my_tool", '{"count":3,"who":"me"}'), "my_tool: me");
    assert.equal(
      toolTitle("job_boolean_true", '{"argument":"all tests pass"}'),
      "job_boolean_true: all tests pass",
    );
  });

  it("survives arguments that are not JSON, not an object or endless", () => {
    for (const bad of ["", "{", "[1]", "null", undefined, 7]) assert.equal(toolTitle("x", bad), "x");
    const long = toolTitle("bash", JSON.stringify({ command: "y".repeat(100_000) }));
    assert.ok(long.length < 200 && long.endsWith("…"));
  });
});

describe("the output of a command", () => {
  const words: [style: string, word: string][] = [
    ["font-weight: 700", "bold"],
    ["color: var(--muted)", "dim"],
    ["font-style: italic", "italic"],
    ["text-decoration: underline", "underline"],
    ["; color: var(--terminal)", ""],
  ];

  /** Written with ^ for the escape character; each part that looks different in brackets, behind its style in short. */
  const shown = (content: string) => {
    const { output, looks } = terminalText(content.replaceAll("^", "\u001b"));
    const parts = looks.map(({ at, look }, n) => {
      const text = output.slice(at, looks[n + 1]?.at);
      const short = words.reduce((style, [long, word]) => style.replace(long, word), look);
      const named = short
        .replace(/(background|color): var\(--hue-(\d+)\)/g, "$1 $2")
        .replace(/oklch\(from rgb\((.*?)\) max\(l, 0.75\) c h\)/, "$1")
        .replaceAll(";", "");
      return look && text ? `[${named}: ${text}]` : text;
    });
    return parts.join("");
  };

  it("ends with the exit code of its shell", () => {
    assert.deepEqual(readShellOutput("some\n<shellId: 3 completed with exit code 2>"), {
      output: "some",
      exitCode: 2,
    });
    assert.deepEqual(readShellOutput("<exited with exit code 0>"), { output: "", exitCode: 0 });
    assert.equal(readShellOutput("still running").exitCode, undefined);
  });

  const outputs: [what: string, content: string, expected: string][] = [
    ["what has no escapes stays as it is", "a\n  b\tc\n\n", "a\n  b\tc\n\n"],
    ["a line that is written again shows its last text", "10%\r50%\r100%\r\nnext", "100%\nnext"],
    ["a look begins and ends with its codes", "^[31mred^[0m plain", "[color 1: red] plain"],
    ["what was overwritten has no look", "^[31mold\r^[32mnew^[m\rnewest", "newest"],
    ["a look goes on in the next line", "^[4ma\nb^[24mc", "[underline: a\nb]c"],
    ["several codes stand in one escape", "^[1;3;91mx^[22;39my^[mz", "[bold italic color 9: x][italic: y]z"],
    ["dim text", "^[2ma^[3mb^[22mc^[23md", "[dim: a][dim italic: b][italic: c]d"],
    ["a background", "^[37;44mx^[49my", "[background 4: x][color 7: y]"],
    ["a bright background", "^[103mx", "[background 11: x]"],
    ["a black background is the terminal's own", "^[33;40mx", "[color 3: x]"],
    ["inverse text", "^[32;7mx^[27my", "[background 2: x][color 2: y]"],
    ["inverse text without a colour", "^[7mx", "[background 7: x]"],
    [
      "one of 256 colours",
      "^[38;5;1ma^[38;5;208mb^[38;5;250mc",
      "[color 1: a][color: 255,135,0: b][color: 188,188,188: c]",
    ],
    ["one of 256 as a background", "^[48;5;21mx", "[background: 0,0,255: x]"],
    ["one of 16 million", "^[38;2;200;30;30ma^[38;2;20;90;20mb", "[color: 200,30,30: a][color: 20,90,20: b]"],
    ["what is written in a way that is not known", "^[1;38:2::255:0:0ma^[4:3mb", "ab"],
    ["the colour of an underline is nothing else", "^[4;58;5;1mx^[58;2;1;3;9my", "[underline: xy]"],
    ["an escape that only moves or hides", "^[?25la^[2K^[1Ab^[?25h^[>4;2mc", "abc"],
    ["a link, a title and a character set", "^]8;;http://x^\\a^]8;;^\\^]0;t\u0007b^(B^[mc", "abc"],
    ["an escape that is cut at the end", "a^[38;5", "a"],
    ["codes without a meaning", "^[5;8;99;;38mx", "x"],
  ];
  for (const [what, content, expected] of outputs)
    it(`looks as it finally would in a terminal: ${what}`, () => assert.equal(shown(content), expected));

  it("is plain after thousands of changes of its look", () => {
    const { output, looks } = terminalText("\u001b[31ma\u001b[32mb".repeat(10_000));
    assert.equal(output, "ab".repeat(10_000));
    assert.ok(looks.length > 1_000 && looks.length <= 5_001, `${looks.length} looks`);
    assert.equal(looks.at(-1)?.look, "");
  });
});

it("numbers are easy to read", () => {
  assert.deepEqual([0, 400, 9_960, 65_000, 7_800_000, 277_200_000, Number.NaN].map(formatDuration), [
    "0.0 s",
    "0.4 s",
    "10 s",
    "1 min 05 s",
    "2 h 10 min",
    "3 d 5 h",
    "",
  ]);
  assert.deepEqual([12, 1500, 5_000_000].map(formatSize), ["12 bytes", "1.5 KB", "5.0 MB"]);
  assert.equal(formatUsage({ inputTokens: 0, outputTokens: 0, cost: 0 }), "");
  assert.equal(
    formatUsage({ inputTokens: 1234, outputTokens: 5, premiumRequests: 2 }),
    "1,234 tokens in, 5 out · 2 premium requests",
  );
  const now = new Date("2026-03-04T12:00:00");
  assert.equal(formatTime(new Date("2026-03-04T11:59:30"), now), "just now");
  assert.equal(formatTime(new Date("2026-03-04T11:30:00"), now), "30 min ago");
  assert.equal(formatTime(new Date("nonsense"), now), "");
});

describe("the state of a job", () => {
  const job = (callback: string, more: object = {}) => ({ source: "job", id: "j", callback, ...more });
  const task = (id: string, callback: string, more: object = {}) => ({
    source: "task",
    id,
    callback,
    ...more,
  });
  const session = (id: string, callback: string, more: object = {}) => ({
    source: "session",
    id,
    callback,
    ...more,
  });

  it("has the driving tab first, then one tab per attempt", () => {
    const state = new JobState();
    for (const event of [
      job("workStarted", { workId: 1, taskId: "t" }),
      task("t", "taskSessionStarted", { sessionId: "a", isDriving: false }),
      session("a", "onGeneratedUserPrompt", { prompt: "do it" }),
      task("t", "taskSessionStarted", { sessionId: "d", isDriving: true }),
      session("d", "onStartMessage", { messageId: "1" }),
      task("t", "taskDecision", { reason: "[CRITERIA] Failed: condition: not yet" }),
      task("t", "taskDecision", { reason: "[OPERATION] Retry 1 of 3" }),
      task("t", "taskSessionStarted", { sessionId: "b", isDriving: false }),
    ])
      state.apply(event);
    const run = state.runs.get(1);
    assert.deepEqual(
      run?.tabs.map(tab => [tab.name, tab.responses.length]),
      [
        ["Driving", 3],
        ["Attempt #1", 1],
        ["Attempt #2", 0],
        ["Changes", 0],
      ],
    );
    assert.deepEqual([run?.attempt, run?.attempts, run?.verdict], [2, 4, "Failed: condition: not yet"]);
  });

  it("knows which tasks wait for an answer of the user", () => {
    const state = new JobState();
    state.apply(job("workStarted", { workId: 1, taskId: "t" }));
    state.apply(task("t", "taskSessionStarted", { sessionId: "a", isDriving: false }));
    const waiting = (event: object) => {
      state.apply(event);
      return state.runs.get(1)?.asked.filter(({ isOpen }) => isOpen).length;
    };
    const counts = [
      session("a", "onPermissionRequest", { requestId: "1" }),
      session("a", "onQuestion", { requestId: "2" }),
      session("a", "onIdle", { requestId: "3" }),
      session("a", "onQuestionResolved", { requestId: "2" }),
      session("a", "onPermissionResolved", { requestId: "1" }),
      task("t", "onPermissionRequest", { requestId: "4" }),
      task("t", "onPermissionResolved", { requestId: "4" }),
    ].map(waiting);
    assert.deepEqual(counts, [1, 2, 2, 1, 0, 1, 0]);
  });

  it("drops the earlier run of a task that starts again, except on the time line", () => {
    const state = new JobState();
    state.apply(job("workStarted", { workId: 1, taskId: "t1" }));
    state.apply(task("t1", "taskDecision", { reason: "[MISC] first" }));
    state.apply(job("workStopped", { workId: 1, succeeded: false }));
    state.apply(job("workStarted", { workId: 1, taskId: "t2" }));
    assert.deepEqual(
      [state.runs.get(1)?.status, state.runs.get(1)?.tabs[0]?.responses.length],
      ["Running", 0],
    );
    assert.deepEqual(
      state.allRuns.map(run => [run.round, run.status]),
      [
        [1, "Failed"],
        [2, "Running"],
      ],
    );
  });

  it("does not depend on the order in which the logs arrive", () => {
    const state = new JobState();
    state.apply(session("a", "onUsage", { inputTokens: 5 }));
    state.apply(task("t", "taskSessionStarted", { sessionId: "a", isDriving: true }));
    state.apply(job("workStarted", { workId: 0, taskId: "t" }));
    state.apply(job("jobCanceled"));
    assert.deepEqual(
      [state.status, state.runs.get(0)?.status, state.runs.get(0)?.usage.inputTokens],
      ["Canceled", "Canceled", 5],
    );
  });

  it("keeps one delta for a block, however many arrive, and none after the block ends", () => {
    const state = new JobState();
    state.apply(job("workStarted", { workId: 0, taskId: "t" }));
    state.apply(task("t", "taskSessionStarted", { sessionId: "a", isDriving: false }));
    state.apply(session("a", "onStartMessage", { messageId: "m" }));
    for (let n = 0; n < 1000; n++) state.apply(session("a", "onMessage", { messageId: "m", delta: "x" }));
    const responses = () => state.runs.get(0)?.tabs[1]?.responses ?? [];
    assert.deepEqual([responses().length, responses()[1]?.delta], [2, "x".repeat(1000)]);
    state.apply(session("a", "onEndMessage", { messageId: "m", completeContent: "x".repeat(1000) }));
    assert.deepEqual([responses().length, responses()[1]?.delta], [3, ""]);
  });

  it("can be retried once it failed or was canceled, and while it is paused after a failure", () => {
    const after = (...events: object[]) => {
      const state = new JobState();
      for (const event of [job("workStarted", { workId: 0, taskId: "t" }), ...events]) state.apply(event);
      return state.canRetry;
    };
    const ended = (verdict: string) => task("t", "taskAttemptEnded", { verdict });
    const failed = job("workStopped", { workId: 0, succeeded: false });
    assert.deepEqual(
      [
        after(failed),
        after(failed, job("jobPaused")),
        after(ended("failed"), job("jobPaused")),
        after(ended("interrupted"), job("jobPaused")),
        after(failed, job("jobPaused"), job("jobContinued")),
        after(failed, job("jobFailed")),
        after(job("jobCanceled")),
        after(failed, job("jobSucceeded")),
      ],
      [false, true, true, false, false, true, true, false],
    );
  });

  it("is failed, with the error that stopped the job", () => {
    const state = new JobState();
    state.apply({ source: "job", id: "j", jobError: "the runtime died" });
    assert.deepEqual([state.status, state.error], ["Failed", "the runtime died"]);
  });
});

it("the time line shows where the time went", () => {
  const runs = [
    { startTime: 0, endTime: 100 },
    { startTime: 100, endTime: 400 },
    { startTime: 100, endTime: undefined },
  ];
  assert.deepEqual(
    layOutBars(runs, 200).map(({ left, width, isSlowest }) => [left, width, isSlowest]),
    [
      [0, 25, false],
      [25, 75, true],
      [25, 25, false],
    ],
  );
});

describe("foreign text", () => {
  const lines: readonly [text: string, seen: string, why: string][] = [
    ["fix\u202ethe bug", "fix\\u{202E}the bug", "a title reverses no text"],
    ["a\nb\tc", "a\\u{A}b\\u{9}c", "a title has one line"],
    ["❤️ and 👩‍🚀 stay", "❤️ and 👩‍🚀 stay", "an emoji may have parts that are invisible alone"],
    ["x\ufe0f y\u200d z", "x\\u{FE0F} y\\u{200D} z", "only an emoji may have such parts"],
    ["x".repeat(2000), `${"x".repeat(1000)} …`, "a longer text is cut"],
  ];
  for (const [text, seen, why] of lines)
    it(`becomes one visible line, ${JSON.stringify(text.slice(0, 20))}: ${why}`, () =>
      assert.equal(visibleLine(text), seen));

  it("is cut in the middle, between whole characters, and no part of it is lost", () => {
    const limit = { lines: 3, chars: 20 };
    for (const text of [
      "short",
      "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight",
      `begin${"\n".repeat(100)}end`,
      "😀".repeat(100),
      `a${"😀".repeat(100)}`,
      "\n".repeat(50),
      "",
    ]) {
      const { first, hidden, last } = endsOf(text, limit);
      assert.equal(first + hidden + last, text);
      for (const part of [first, hidden, last]) assert.doesNotMatch(part, /\p{Cs}/u);
    }
    assert.deepEqual(endsOf(`begin${"\n".repeat(100)}end`, limit).hidden, "", "empty lines are counted once");
  });

  it("is shown quickly: the worst 100 KB take under 50 ms", () => {
    const worst = [
      "[",
      "[a](",
      "**a",
      "`",
      "|",
      "| ",
      "\r",
      "a\r",
      " ",
      "\t",
      "\n",
      "\n ",
      "\u200b",
      "a\u200b",
      "\u0301",
    ].concat([
      "👩‍",
      "\u001b[",
      "\u001b[1;",
      "<shellId: ",
      "exit code 1> ",
      "```",
      "~~~\n",
      "\u001b[31m",
      "\u001b[38:2:",
      "\u001b[38;2;9;9;9mx\r",
      "\u001b]",
      "@@ ",
      "--- ",
      "{",
      "\ud800",
    ]);
    const works: Record<string, (text: string) => unknown> = {
      visibleLine,
      looksLikeMarkdown,
      readShellOutput,
      terminalText,
      isUnifiedDiff,
      toolTitle: text => toolTitle(text, { command: text }),
      endsOf: text => endsOf(text, { lines: 6, chars: 420 }),
    };
    for (const part of worst)
      for (const [name, work] of Object.entries(works)) {
        const text = part.repeat(Math.ceil(100_000 / part.length));
        const ms = cpuMsOf(() => work(text), 50);
        assert.ok(ms < 50, `${name} takes ${ms.toFixed(0)} ms for ${JSON.stringify(part)}`);
      }
  });
});

describe("the requests of a session that are not answered yet", () => {
  const counts = (tell: (requests: InstanceType<typeof PendingRequests>) => void) => {
    const requests = new PendingRequests();
    tell(requests);
    return requests.count;
  };

  it("are those that began and did not end", () => {
    const tell = (requests: InstanceType<typeof PendingRequests>) => {
      for (const id of ["a", "b"]) requests.begin(id);
      requests.end("a");
      requests.end("c");
    };
    assert.equal(counts(tell), 1);
  });

  it("include what began before the part of the log that the page knows, whichever is heard first", () => {
    const says = ["a", "b"];
    assert.equal(
      counts(requests => requests.know(says)),
      2,
    );
    const log = (requests: InstanceType<typeof PendingRequests>) => {
      requests.end("a");
      requests.begin("b");
      requests.begin("c");
    };
    assert.deepEqual(
      [
        counts(requests => {
          requests.know(says);
          log(requests);
        }),
        counts(requests => {
          log(requests);
          requests.know(says);
        }),
      ],
      [2, 2],
    );
  });

  it("of an older portal, without ids, end in order", () => {
    const tell = (requests: InstanceType<typeof PendingRequests>) => {
      requests.begin();
      requests.begin();
      requests.end();
      requests.know(["", ""]);
    };
    assert.equal(counts(tell), 1);
  });
});
