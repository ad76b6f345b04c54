import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { randomFrom } from "../../test/support/kills/randomLog.js";
import { type Call, checkStream, recorder } from "../../test/support/live/recorder.js";
import { interruptedBy } from "../live/lostBlocks.js";
import { BlockWriter } from "./blockWriter.js";

type Writer = BlockWriter<string>;

/** A callback on one line: `start message m`, `delta message m "a"`, `end message m "ab" cut`. */
function lineOf({ name, args }: Call): string {
  const [, moment = "Delta", kind = ""] =
    /^on(Start|End)?(Reasoning|Message|ToolExecution)$/.exec(name) ?? [];
  const what = `${moment.toLowerCase()} ${kind === "ToolExecution" ? "tool" : kind.toLowerCase()} ${args[0]}`;
  if (moment === "Start") return args[1] === undefined ? what : `${what} in ${args[1]}`;
  if (moment === "Delta") return `${what} ${JSON.stringify(args[1])}`;
  const ended = kind === "ToolExecution" ? toolEnd(args) : { text: args[1], cut: args[2] };
  return `${what} ${JSON.stringify(ended.text)}${ended.cut ? " cut" : ""}`;
}

function toolEnd([, result, error, cut]: unknown[]) {
  const { content } = (result ?? {}) as { content?: string };
  const { message } = (error ?? {}) as { message?: string };
  return { text: [content ?? null, message ?? null], cut };
}

function written(write: (writer: Writer) => void, idTag?: string): string[] {
  const record = recorder();
  write(new BlockWriter(record.callbacks, idTag));
  return record.calls.map(lineOf);
}

const start = { parentId: undefined, name: "bash", args: "{}" };
const crash = (writer: Writer) => {
  writer.endTexts(true);
  writer.interruptTools(() => ({ error: interruptedBy("The agent died.") }));
};

const cases: readonly [rule: string, write: (writer: Writer) => void, told: readonly string[]][] = [
  [
    "a text starts, grows and ends with what it said",
    writer => {
      writer.start("message", "m");
      writer.delta("message", "m", "a");
      writer.delta("message", "m", "b");
      writer.end("message");
    },
    ["start message m", 'delta message m "a"', 'delta message m "b"', 'end message m "ab"'],
  ],
  [
    "a text that starts while one of its kind is open cuts that one short",
    writer => {
      writer.start("message", "m");
      writer.delta("message", "m", "a");
      writer.start("message", "n");
      writer.end("message");
    },
    [
      "start message m",
      'delta message m "a"',
      'end message m "a" cut',
      "start message n",
      'end message n ""',
    ],
  ],
  [
    "a second start with the same name makes a block with a new id",
    writer => {
      writer.start("reasoning", "r");
      writer.start("reasoning", "r");
      writer.end("reasoning");
    },
    ["start reasoning r", 'end reasoning r "" cut', "start reasoning r#2", 'end reasoning r#2 ""'],
  ],
  [
    "a delta without a start, for another block, of another kind or without text is ignored",
    writer => {
      writer.delta("message", "m", "early");
      writer.toolDelta("t", "early");
      writer.start("message", "m");
      writer.delta("message", "n", "foreign");
      writer.delta("reasoning", "m", "foreign");
      writer.delta("message", "m", "");
      writer.startTool("t", start, "");
      writer.toolDelta("t", "");
    },
    ["start message m", "start tool t"],
  ],
  [
    "an end without a start is ignored",
    writer => {
      assert.equal(writer.end("message"), true);
      writer.end("message", "all of it");
      writer.interrupt("reasoning");
      writer.endTexts(true);
      writer.endTool("t", { result: { content: "x" } });
      writer.interruptTools(() => ({ error: interruptedBy("never") }));
    },
    [],
  ],
  [
    "everything after the end of a block is ignored",
    writer => {
      writer.whole("message", "m", "a");
      writer.delta("message", "m", "late");
      writer.end("message", "late");
      writer.startTool("t", start, "");
      writer.endTool("t", { result: { content: "x" } });
      writer.toolDelta("t", "late");
      writer.endTool("t", { error: { message: "late" } });
      crash(writer);
    },
    ["start message m", 'delta message m "a"', 'end message m "a"', "start tool t", 'end tool t ["x",null]'],
  ],
  [
    "an empty whole text makes no block",
    writer => {
      writer.whole("message", "m", "");
      assert.equal(writer.knows("m"), false);
    },
    [],
  ],
  [
    "a text ends with its whole content when the backend knows more than it streamed",
    writer => {
      writer.start("message", "m");
      writer.delta("message", "m", "a");
      assert.equal(writer.end("message", "ab"), true);
    },
    ["start message m", 'delta message m "a"', 'end message m "ab"'],
  ],
  [
    "a text ends with what was shown when the backend trims or omits it",
    writer => {
      for (const content of ["a", " \n", ""]) {
        writer.start("message", "m");
        writer.delta("message", "m", " a\n");
        assert.equal(writer.end("message", content), true);
      }
    },
    ["m", "m#2", "m#3"].flatMap(id => [
      `start message ${id}`,
      `delta message ${id} " a\\n"`,
      `end message ${id} " a\\n"`,
    ]),
  ],
  [
    "a text whose final content differs is cut short, and the caller learns it",
    writer => {
      writer.start("message", "m");
      writer.delta("message", "m", "wrong");
      assert.equal(writer.end("message", "right"), false);
    },
    ["start message m", 'delta message m "wrong"', 'end message m "wrong" cut'],
  ],
  [
    "reasoning, a message and tools can be open side by side",
    writer => {
      writer.start("reasoning", "x");
      writer.start("message", "y");
      writer.startTool("s", start, "");
      writer.startTool("t", { ...start, parentId: "s" }, "");
      writer.toolDelta("t", "T");
      writer.delta("reasoning", "x", "X");
      writer.toolDelta("s", "S");
      writer.delta("message", "y", "Y");
      writer.endTool("s", { result: { content: "S" } });
      writer.end("reasoning");
      writer.toolDelta("t", "T");
      writer.end("message");
      writer.endTool("t", { error: { message: "failed" } });
    },
    [
      "start reasoning x",
      "start message y",
      "start tool s",
      "start tool t in s",
      'delta tool t "T"',
      'delta reasoning x "X"',
      'delta tool s "S"',
      'delta message y "Y"',
      'end tool s ["S",null]',
      'end reasoning x "X"',
      'delta tool t "T"',
      'end message y "Y"',
      'end tool t [null,"failed"]',
    ],
  ],
  [
    "a tool call whose id is used again while it runs is cut short",
    writer => {
      writer.startTool("t", start, "");
      writer.toolDelta("t", "a");
      writer.startTool("t", start, "");
      writer.endTool("t", { result: { content: "b" } });
    },
    [
      "start tool t",
      'delta tool t "a"',
      'end tool t ["a","Another call with the same id began."] cut',
      "start tool t#2",
      'end tool t#2 ["b",null]',
    ],
  ],
  [
    "the end of a turn ends only the tools that belong to it",
    writer => {
      writer.startTool("mine", start, "main");
      writer.startTool("theirs", start, "background");
      writer.toolDelta("mine", "a");
      writer.interruptTools(({ own }) =>
        own === "main" ? { error: interruptedBy("turn over") } : undefined,
      );
      assert.deepEqual([...writer.tools.keys()], ["theirs"]);
      writer.endTool("theirs", { result: { content: "b" } });
    },
    [
      "start tool mine",
      "start tool theirs",
      'delta tool mine "a"',
      'end tool mine ["a","turn over"] cut',
      'end tool theirs ["b",null]',
    ],
  ],
  [
    "a crash ends every block once with what had arrived",
    writer => {
      writer.start("reasoning", "r");
      writer.delta("reasoning", "r", "hm");
      writer.start("message", "m");
      writer.startTool("quiet", start, "");
      writer.startTool("loud", start, "");
      writer.toolDelta("loud", "so far");
      crash(writer);
      crash(writer);
    },
    [
      "start reasoning r",
      'delta reasoning r "hm"',
      "start message m",
      "start tool quiet",
      "start tool loud",
      'delta tool loud "so far"',
      'end reasoning r "hm" cut',
      'end message m "" cut',
      'end tool quiet [null,"The agent died."] cut',
      'end tool loud ["so far","The agent died."] cut',
    ],
  ],
  [
    "a tool whose output is replaced ends with the latest output",
    writer => {
      writer.startTool("t", start, "");
      writer.toolDelta("t", "1\n2\n", "1\n2\n");
      writer.toolDelta("t", "3\n", "2\n3\n");
      writer.toolDelta("t", "", "3\n");
      crash(writer);
    },
    [
      "start tool t",
      'delta tool t "1\\n2\\n"',
      'delta tool t "3\\n"',
      'end tool t ["3\\n","The agent died."] cut',
    ],
  ],
  [
    "a block that the backend does not name gets the given id",
    writer => {
      writer.startAs("message", undefined, "id 1");
      writer.delta("message", undefined, "a");
      writer.delta("message", "m", "foreign");
      writer.end("message");
    },
    ["start message id 1", 'delta message id 1 "a"', 'end message id 1 "a"'],
  ],
];

describe("The writer of a session's blocks", () => {
  for (const [rule, write, told] of cases) {
    test(rule, () => assert.deepEqual(written(write), told));
  }

  test("the writer adds its tag to every id, and knows the names that it has used", () => {
    const lines = written(writer => {
      writer.whole("message", "m", "a");
      writer.startTool("m", start, "");
      assert.deepEqual([writer.knows("m"), writer.knows("n")], [true, false]);
      crash(writer);
    }, "@2");
    assert.equal(lines[0], "start message m@2");
    assert.equal(lines[3], "start tool m#2@2");
  });

  test("the writer keeps its promises in 500 random orders of calls", () => {
    for (let seed = 1; seed <= 500; seed++) {
      const random = randomFrom(seed);
      const next = (below: number) => Math.floor(random() * below);
      const pick = <T>(...choices: T[]) => choices[next(choices.length)] as T;
      const kind = () => pick("reasoning" as const, "message" as const);
      const key = () => pick("a", "b", "a#2");
      const text = () => pick("", "x", "y");
      const record = recorder();
      const writer: Writer = new BlockWriter(record.callbacks);
      for (let n = next(60); n > 0; n--) {
        pick(
          () => writer.start(kind(), key()),
          () => writer.delta(kind(), key(), text()),
          () => writer.end(kind(), pick(undefined, text())),
          () => writer.whole(kind(), key(), text()),
          () => writer.interrupt(kind()),
          () => writer.startTool(key(), start, pick("main", "other")),
          () => writer.toolDelta(key(), text()),
          () => {
            const name = key();
            const content = `${writer.tools.get(name)?.text}, and done`;
            writer.endTool(name, { result: { content } });
          },
          () =>
            writer.interruptTools(({ own }) => (own === "main" ? { error: interruptedBy("") } : undefined)),
        )();
      }
      crash(writer);
      assert.doesNotThrow(() => checkStream(record.calls, 0), `seed ${seed}`);
    }
  });
});
