import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { shellLine } from "./callFields.js";
import type { Fields } from "./fields.js";
import { requestedAction } from "./requestedAction.js";

const folder = "/work/project";
const none = { calls: [], isCut: false };
const action = (toolCall: Fields, announced: readonly Fields[] = [], params: Fields = {}) =>
  requestedAction({ toolCall, ...params }, toolCall, { calls: announced, isCut: false }, folder);
const execute = (rawInput: unknown, more: Fields = {}) => ({
  kind: "execute",
  title: "ls",
  rawInput,
  ...more,
});
const edit = (rawInput: unknown, more: Fields = {}) => ({ kind: "edit", title: "Edit", rawInput, ...more });
const read = (rawInput: unknown, more: Fields = {}) => ({ kind: "read", title: "Read", rawInput, ...more });
const tool = (rawInput: unknown, more: Fields = {}) => ({ kind: "other", name: "search", rawInput, ...more });
const diff = (path: string, newText = "x") => ({ type: "diff", path, oldText: null, newText });

describe("A request that fully says what it does", () => {
  const clear: Record<string, [Fields, Fields]> = {
    "a command": [execute({ command: "git status", description: "See" }), { command: "git status" }],
    "a command as words": [execute({ command: ["git", "log", "-3"] }), { command: "git log -3" }],
    "the script of a shell": [execute({ command: ["bash", "-lc", "a && b"] }), { command: "a && b" }],
    "Copilot's form, which says it twice": [
      execute({ command: "make", commands: ["make"] }),
      { command: "make" },
    ],
    "several plain commands": [execute({ commands: ["a b", "c"] }), { command: "a b\nc" }],
    "a command in the session's own folder": [
      execute({ command: "ls", cwd: `${folder}/`, timeout: 5 }),
      { command: "ls" },
    ],
    "an edit with its difference": [edit({ fileName: "/work/project/a", diff: "--- a\n+++ a\n" }), {}],
    "a read of a name in brackets": [read({ path: "app/[id]/page.tsx" }), { paths: ["app/[id]/page.tsx"] }],
    "a read of some lines": [read({ path: "a", offset: 3, limit: 7 }), { paths: ["a"] }],
    "a search": [
      { ...read({ pattern: "foo..bar", path: "src", "-A": 3 }), kind: "search" },
      { paths: ["src"] },
    ],
    "a tool by its name": [tool({ query: "is:open", page: 2 }), { tool: "search" }],
  };
  for (const [what, [call, expected]] of Object.entries(clear))
    test(`a clear request is left to the rules: ${what}`, () => {
      const { unclear, ...found } = action(call);
      assert.equal(unclear, undefined);
      for (const [name, value] of Object.entries(expected))
        assert.deepEqual(Reflect.get(found, name), value, name);
    });

  test("a request lists every file that it names anywhere", () => {
    const moved = { ...edit({ path: "a", destination: "/etc/b", new_path: "c" }), kind: "move" };
    assert.deepEqual(action(moved).paths, ["a", "/etc/b", "c"]);
    const call = edit(
      {
        path: "a",
        patch: "--- a/one\n+++ b/../two\trest\n*** Move to: /three\nrename to four\n+++ /dev/null\n",
      },
      { content: [diff("/five")], locations: [{ path: "six" }] },
    );
    assert.deepEqual(action(call).paths, ["a", "/five", "six", "one", "../two", "/three", "four"]);
    assert.deepEqual(action(read({ path: "a" }), [{ rawInput: { path: "/etc/b" } }]).paths, ["a", "/etc/b"]);
    const bare = edit({ path: "a", patch: "--- q/up/one\n+++ q/up/one\n" });
    assert.deepEqual(action(bare).paths, ["a", "q/up/one", "up/one"], "patch -p1 strips the first name");
    const copilots = edit({ fileName: "/tmp/a", diff: "--- a/dev/null\n+++ b/tmp/a\n+++ b/tmp/b\n" });
    assert.deepEqual(action(copilots).paths, ["/tmp/a", "tmp/b"], "Copilot omits the first slash");
    assert.deepEqual(action(edit({ edits: [{ path: "/x", old_string: "a", new_string: "b" }] })).paths, [
      "/x",
    ]);
  });
});

describe("A patch that may name a file in a way that the portal does not read", () => {
  const hooks = ".github/hooks/x.json";
  const hunk = "@@ -0,0 +1 @@\n+x\n";
  const patches: Record<string, string> = {
    "git has a file as bytes": `diff --git a/a b/a\nnew file mode 100644\nGIT binary patch\nliteral 1\n`,
    "a file becomes a program": "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n",
    "a link is made": `diff --git a/a b/a\nnew file mode 120000\n--- /dev/null\n+++ b/a\n${hunk}`,
    "a name contains escapes": `--- /dev/null\n+++ "b/\\056github/hooks/x.json"\n${hunk}`,
    "git's header line contains escapes": `diff --git "a/\\056x" "b/\\056x"\nnew file mode 100644\n`,
    "git's header line is ambiguous": "diff --git a/x b/y b/z\nnew file mode 100644\n",
    "a name leads up again after a folder": `--- src/../x\n+++ src/../x\n${hunk}`,
    "a line starts with Index": `Index: ${hooks}\n${hunk}`,
    "headers are indented": `  --- a/${hooks}\n  +++ b/${hooks}\n  ${hunk}`,
    "it is a context diff": `*** ${hooks}\n--- a\n***************\n*** 1 ****\n! a\n`,
    "it is an ed script": "0a\nx\n.\nw /etc/x\n",
    "a header has other capitals": "*** Begin Patch\n*** add file: ../x\n+x\n*** End Patch",
    "a header has other words": "*** Begin Patch\n*** Rename To: ../x\n*** End Patch",
    "a header contains a tab": "*** Begin Patch\n***\tAdd File: ../x\n+x\n*** End Patch",
    "a header follows a blank": "*** Begin Patch\n *** Add File: ../x\n+x\n*** End Patch",
  };
  for (const [what, patch] of Object.entries(patches))
    test(`a patch needs permission when ${what}`, () => {
      for (const field of ["patch", "diff", "patchText"])
        assert.match(action(edit({ path: "a", [field]: patch })).unclear ?? "", /difference/);
    });

  test("the patch formats that agents really write are read", () => {
    const whole = `${folder}/a b.txt`;
    const copilots = `\ndiff --git a${whole} b${whole}\ncreate file mode 100644\nindex 0000000..0000000\n--- a/dev/null\n+++ b${whole}\n@@ -1,0 +1,1 @@\n+{}\n`;
    const gits = `diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\nindex 12ab..34cd 100755\n--- a/x\n+++ b/y\n@@ -1 +1 @@ f()\n-a\n+b\n\\ No newline at end of file\n`;
    const codex =
      "*** Begin Patch\n*** Update File: x\n*** Move to: y\n@@\n a\n-b\n+c\n*** End of File\n*** End Patch";
    for (const [patch, paths] of [
      [copilots, [whole]],
      [gits, [whole, "x", "y", "x", "y", "x", "y"]],
      [codex, [whole, "x", "y"]],
    ] as const) {
      const found = action(edit({ fileName: whole, diff: patch }));
      assert.equal(found.unclear, undefined);
      assert.deepEqual(found.paths, [...new Set(paths)]);
    }
  });
});

test("a file pattern follows the links that it names, so its fixed beginning counts as a path", () => {
  const search = (rawInput: Fields) => action({ ...read(rawInput), kind: "search" });
  assert.deepEqual(search({ path: "src", glob: "up/x/*.ts" }).paths, ["src", "src/up/x"]);
  assert.deepEqual(search({ pattern: "up/**" }).paths, ["./up"]);
  assert.deepEqual(search({ path: "src", pattern: "foo/bar" }).paths, ["src"], "a pattern for text");
});

describe("A request that a rule must not decide", () => {
  const announced = (rawInput: unknown, more: Fields = {}) => [{ rawInput, ...more }];
  const asked: Record<string, ReturnType<typeof action>> = {
    "only its title names a command": action({ kind: "execute", title: "ls" }),
    "its command is empty": action(execute({ command: "" })),
    "its command is not a string": action(execute({ command: { toString: 1 } })),
    "a word of its command is not a string": action(execute({ command: ["ls", 7] })),
    "its words are a shell's operators once they are joined": action(
      execute({ command: ["ls", "&&", "touch", "x"] }),
    ),
    "its words are several once they are joined": action(execute({ cmd: ["cat", "a ../../x"] })),
    "it has arguments beside its command": action(execute({ command: "ls", args: ["-l"] })),
    "a quote spans several commands": action(execute({ commands: ["echo 'a", "rm x'"] })),
    "it sets variables": action(execute({ command: "ls", env: { PATH: "." } })),
    "it sets variables under another name": action(execute({ command: "ls", environment: [] })),
    "it has input": action(execute({ command: "cat", stdin: "x" })),
    "it names a shell": action(execute({ command: "ls", shell: "./sh" })),
    "it continues in a running shell": action(execute({ command: "ls", shellId: "7" })),
    "it runs in another way": action(execute({ command: "ls", mode: "as-root" })),
    "it runs in a folder inside": action(execute({ command: "git status", cwd: `${folder}/sub` })),
    "it runs outside": action(execute({ command: "ls", workdir: "/" })),
    "it runs in the folder above": action(execute({ command: "ls", working_directory: ".." })),
    "it runs in the parent of what may be a link": action(execute({ command: "ls", cwd: "a/.." })),
    "its folder is not a string": action(execute({ command: "ls", cwd: 7 })),
    "a command has a difference": action(execute({ command: "ls" }, { content: [diff("a")] })),
    "a command names a file to run": action(execute({ command: "ls", path: "run.sh" })),
    "a read has a command": action(read({ path: "a", command: "rm a" })),
    "a read has a difference": action(read({ path: "a" }, { content: [diff("a")] })),
    "a read has new text": action(read({ path: "a", content: "x" })),
    "an edit has a command": action(edit({ path: "a", command: "create" })),
    "an edit has an unknown field": action(edit({ path: "a", hook: "x" })),
    "one of several edits has an unknown field": action(
      edit({ path: "a", edits: [{ newText: "x", run: "y" }] }),
    ),
    "one of several edits is a string": action(edit({ path: "a", edits: ["--- /etc/x"] })),
    "one of several edits is a list": action(edit({ path: "a", edits: [[{ path: "/etc/x" }]] })),
    "a difference also names a destination": action(
      edit({ path: "a" }, { content: [{ ...diff("a"), moveTo: "/etc/x" }] }),
    ),
    "a location also has a URL": action(
      read({ path: "a" }, { locations: [{ path: "a", uri: "file:///x" }] }),
    ),
    "its content is a URL": action(
      read(
        { path: "a" },
        { content: [{ type: "content", content: { type: "resource_link", uri: "file:///x" } }] },
      ),
    ),
    "files are named by a pattern": action(read({ paths: ["[u]p/secret"] })),
    "a file is named by a pattern": action(read({ path: "u*/secret" })),
    "a pattern is an option": action({ ...read({ path: ".", pattern: "--pre=./x" }), kind: "search" }),
    "a setting is an option": action({
      ...read({ path: ".", pattern: "x", type: "--follow" }),
      kind: "search",
    }),
    "a number is an option": action({
      ...read({ path: ".", pattern: "x", "-A": "--pre=x" }),
      kind: "search",
    }),
    "a range is a file": action(read({ path: "a", lines: "../b" })),
    "a time limit is a script": action(execute({ command: "ls", timeout: "$(x)" })),
    "a path is URL-encoded": action(read({ path: "a%2e%2e/b" })),
    "a file has control characters": action(read({ path: "a\u202e\u0007" })),
    "a file has no name": action(edit({}, { content: [{ type: "diff", newText: "x" }] })),
    "it names a thousand files": action(read({ paths: Array.from({ length: 1000 }, (_, i) => `f${i}`) })),
    "a location has no path": action(read({ path: "a" }, { locations: [{}] })),
    "its locations are not a list": action(read({ path: "a" }, { locations: "/etc" })),
    "its content is of a new kind": action(edit({ path: "a" }, { content: [{ type: "run" }] })),
    "its content is not a list": action(edit({ path: "a" }, { content: { type: "diff" } })),
    "a pattern leads out": action({ ...read({ path: ".", pattern: "../**" }), kind: "search" }),
    "a pattern begins elsewhere": action({ ...read({ path: ".", glob: "/etc/*" }), kind: "search" }),
    "its input is a list": action(execute(["ls"])),
    "its input is a string": action(execute("ls")),
    "the call has an unknown field": action(execute({ command: "ls" }, { next: "rm" })),
    "the request has an unknown field": action(execute({ command: "ls" }), [], { also: "rm" }),
    "another command was announced": action(execute({ command: "ls" }), announced({ command: "rm x" })),
    "another kind was announced": action(execute({ command: "ls" }), announced({}, { kind: "edit" })),
    "variables were announced": action(
      execute({ command: "ls" }),
      announced({ command: "ls", env: { A: "b" } }),
    ),
    "an edit was announced with more": action(edit({ path: "a" }), announced({ path: "a", exec: "x" })),
    "more was announced than is kept": requestedAction(
      {},
      execute({ command: "ls" }),
      { ...none, isCut: true },
      folder,
    ),
    "a tool has a title but no name": action({ kind: "other", title: "search", rawInput: {} }),
    "a tool has two names": action(tool({}), announced({}, { name: "delete" })),
    "a tool is given a command": action(tool({ deep: [{ command: "ls" }] })),
    "a tool is given a place elsewhere": action(tool({ deep: [{ at: "/etc/passwd" }] })),
    "a tool is given the folder above": action(tool({ at: "a/../../b" })),
    "a tool is given a file URL": action(tool({ at: "file:///etc/passwd" })),
    "a tool shows a difference": action(tool({}, { content: [diff("a")] })),
    "a tool touches files": action(tool({}, { locations: [{ path: "a" }] })),
    "its kind is from a later protocol": action({ ...tool({}), kind: "teleport" }),
    "it fetches a URL": action({ kind: "fetch", title: "x", rawInput: { url: "http://x" } }),
    "its difference is too long to be shown": action(edit({}, { content: [diff("a", "x".repeat(400_000))] })),
    "its patch is too long to be shown": action(edit({ path: "a", patch: "+".repeat(400_000) })),
  };
  for (const [why, { unclear }] of Object.entries(asked))
    test(`a request needs permission when ${why}`, () => assert.match(String(unclear), /^[A-Z].+/));

  test("a request needs permission when it says that it reaches outside the folder", () => {
    assert.equal(action({ kind: "read", title: "Access paths outside trusted directories" }).outside, true);
  });

  test("the card of an unclear request shows all of it", () => {
    const input = { command: "ls", env: { LD_PRELOAD: "./x.so" } };
    assert.deepEqual(action(execute(input)).arguments, input);
    const other = action(execute({ command: "ls" }), [{ rawInput: { command: "rm x" } }]).arguments;
    assert.match(JSON.stringify(other), /rm x/);
    const long = action(execute({ command: "ls", env: "x".repeat(200_000) })).arguments;
    assert.match(String(long), /and \d+ more characters$/);
    assert.equal(action(execute({ command: `ls ${"x".repeat(5000)}` })).command?.length, 5003, "never cut");
  });
});

describe("The words of a command", () => {
  test("words become a line that a shell reads the same way", () => {
    assert.equal(shellLine(["echo", "a b", "it's", "$x"]), "echo 'a b' 'it'\\''s' '$x'");
    assert.equal(shellLine(["bash", "-c", "a; b"]), "a; b");
  });

  test("words become a script only after the bare name of a shell", () => {
    for (const words of [
      ["./bash", "-lc", "ls"],
      ["/tmp/sh", "-c", "ls"],
      ["bash", "-c", "ls", "more"],
      ["bash", "-xc", "ls"],
      ["BASH", "-c", "ls"],
    ])
      assert.notEqual(shellLine(words), "ls", words.join(" "));
  });
});
