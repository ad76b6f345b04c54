import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "../../test/support/cleanup.js";
import { isInside } from "../base/inside.js";
import { PortalError } from "../base/portalError.js";
import { parseCommandLine } from "./commands/commandLine.js";
import { coverageOf } from "./coverage.js";
import { readPolicy } from "./policy.js";
import { decide, parseRule, rulesFor, ruleText } from "./rules.js";

describe("A command line is read strictly", () => {
  const read: Record<string, string[][]> = {
    "git status": [["git", "status"]],
    "  npm   run\tbuild ": [["npm", "run", "build"]],
    "a && b || c; d | e\ng\n\n h;": [["a"], ["b"], ["c"], ["d"], ["e"], ["g"], ["h"]],
    "a |\n b &&\n c": [["a"], ["b"], ["c"]],
    "grep 'a && b; $(c)' x": [["grep", "a && b; $(c)", "x"]],
    'git commit -m "one; two | three"': [["git", "commit", "-m", "one; two | three"]],
    "rg --glob='*.ts' '' x": [["rg", "--glob=*.ts", "", "x"]],
    "echo 'größer ≥ 3'": [["echo", "größer ≥ 3"]],
    "find . -name '*.ts'": [["find", ".", "-name", "*.ts"]],
    "npm test 2>&1 | tail -5": [
      ["npm", "test"],
      ["tail", "-5"],
    ],
    "ls x 2>/dev/null > /dev/null": [["ls", "x"]],
  };
  for (const [line, words] of Object.entries(read)) {
    test(`${JSON.stringify(line)} is read as its plain commands`, () =>
      assert.deepEqual(
        parseCommandLine(line).commands?.map(command => command.words),
        words,
      ));
  }

  test("the parser knows which command reads another command's output", () => {
    const { commands } = parseCommandLine("a | b && c |\n d; e || f");
    assert.deepEqual(
      commands?.map(({ words, isPiped }) => [words[0], isPiped]),
      [
        ["a", false],
        ["b", true],
        ["c", false],
        ["d", true],
        ["e", false],
        ["f", false],
      ],
    );
  });
});

describe("A rule is one line that people can read", () => {
  for (const text of [
    "allow command git status",
    "reject command rm",
    "allow edits",
    "reject reads",
    "allow tool github/search",
    "allow command echo 'a b'",
    "allow command npm run build",
    "allow command git commit -m 'say \"hello\"'",
    'allow command git commit -m "it\'s done"',
    "reject command sudo",
    `allow startup .github/hooks/a.json ${"0".repeat(64)}`,
    `reject startup 'a b/ü.json' ${"f".repeat(64)}`,
    "reject command git push --force",
  ])
    test(`the rule "${text}" is written exactly as it was read`, () =>
      assert.equal(ruleText(parseRule(text)), text));

  for (const text of [
    "",
    "allow",
    "allow everything",
    "permit command ls",
    "Allow command ls",
    "allow command",
    "allow command a && b",
    "allow command sudo ls",
    "allow command $(x)",
    "allow edits /etc",
    "allow tool",
    "allow tool a b",
    'allow command "it\'s"',
    "allow startup x",
    "allow startup x 123",
    "allow command export A=1",
    "allow command A=1 ls",
    "allow command ls *",
    `allow command ls ${"x".repeat(1000)}`,
    "__proto__ constructor toString",
  ])
    test(`the rule "${text}" is refused, and the message names it`, () => {
      assert.throws(
        () => parseRule(text),
        (error: unknown) =>
          error instanceof PortalError && error.code === "RuleInvalid" && error.message.startsWith('"'),
      );
    });
});

describe("A policy file", () => {
  test("a policy file that is missing or not JSON is refused, and the message names it", async t => {
    const file = join(await tempFolder(t), "policy.json");
    const refused = (message: RegExp) => (error: Error) =>
      message.test(error.message) && error.message.startsWith(file);
    assert.throws(() => readPolicy(file), refused(/cannot be read \(ENOENT\)$/));
    await writeFile(file, '{"folders": ');
    assert.throws(() => readPolicy(file), refused(/is not valid JSON$/));
    for (const content of ["[]", "null", "{}", '{"folders": []}']) {
      await writeFile(file, content);
      assert.throws(() => readPolicy(file), refused(/\$\.folders: must be an object/), content);
    }
  });

  test("rules may have extra blanks and folders may have .. in a policy file", async t => {
    const file = join(await tempFolder(t), "policy.json");
    const folders = { "*": ["reject  command rm"], "/a/../b": ["allow edits"] };
    await writeFile(file, JSON.stringify({ $schema: "x", folders }));
    assert.deepEqual(readPolicy(file), { folders: { "*": ["reject command rm"], "/b": ["allow edits"] } });
    assert.deepEqual(readPolicy(undefined), { folders: {} });
  });
});

describe("Rules decide", () => {
  const command = (text: string) => ({ kind: "execute", title: text, command: text }) as const;
  const decideBy = async (folder: string, text: string, ...rules: string[]) =>
    decide(command(text), folder, rules.map(parseRule));

  test("every part of a line must be allowed, and a rejecting rule wins", async t => {
    const folder = await tempFolder(t);
    const git = "allow command git status";
    assert.equal((await decideBy(folder, "git status -s", git)).decision, "allow");
    assert.equal((await decideBy(folder, "git --no-pager status -s", git)).decision, "allow");
    assert.equal((await decideBy(folder, "git statusx", git)).decision, "ask");
    assert.equal((await decideBy(folder, "git", git)).decision, "ask");
    assert.equal((await decideBy(folder, "git -c a=b status", git)).decision, "ask");
    assert.equal((await decideBy(folder, "git status && rm x", git)).decision, "ask");
    assert.deepEqual(await decideBy(folder, "git status | wc -l", git, "allow command wc"), {
      decision: "allow",
      rules: [git, "allow command wc"],
      why: "Rules allow it.",
    });
    const push = ["allow command git push --force", "reject command git push --force"];
    const rejected = await decideBy(folder, "git push --force", ...push);
    assert.deepEqual([rejected.decision, rejected.rules], ["reject", ["reject command git push --force"]]);
    assert.equal((await decideBy(folder, "rm x; echo $HOME", "reject command rm")).decision, "ask");
    assert.equal((await decideBy(folder, "git status")).decision, "ask", "no rules are built in");
  });

  test("a rejecting rule also covers what no rule may allow: paths outside, a program's full path, sudo", async t => {
    const folder = await tempFolder(t);
    for (const [line, rule] of [
      ["rm /etc/passwd", "reject command rm"],
      ["/bin/rm x", "reject command rm"],
      ["ls && sudo ls", "reject command sudo"],
      ["echo x | python3", "reject command python3"],
      ["git --no-pager push origin", "reject command git push"],
    ] as const)
      assert.equal((await decideBy(folder, line, rule)).decision, "reject", line);
    const edit = { kind: "edit", title: "", paths: ["/etc/passwd"] } as const;
    assert.equal((await decide(edit, folder, [parseRule("reject edits")])).decision, "reject");
  });

  test("a rule for a program that is not known to be harmless covers its exact words only", async t => {
    const folder = await tempFolder(t);
    const rule = "allow command npm test";
    for (const line of ["npm test", "npm  'test'", "npm test 2>&1 | tail -20", `cd ${folder} && npm test`])
      assert.equal((await decideBy(folder, line, rule, "allow command tail")).decision, "allow", line);
    for (const line of ["npm test -- --watch", "npm", "npm tests", "npm test x", "echo y | npm test"])
      assert.equal((await decideBy(folder, line, rule, "allow command echo")).decision, "ask", line);
  });

  test("a line is allowed only in the session's folder, not in another folder that the agent names", async t => {
    const folder = await tempFolder(t);
    await mkdir(join(folder, "sub"));
    const rules = [parseRule("allow command ls")];
    const inDirectory = async (directory: string) =>
      (await decide({ ...command("ls"), directory }, folder, rules)).decision;
    assert.equal(await inDirectory(folder), "allow");
    assert.equal(await inDirectory(join(folder, "sub")), "ask");
    assert.equal(await inDirectory("/"), "ask");
  });

  test("no rule allows anything that reaches outside the folder, however it is written", async t => {
    const root = await tempFolder(t);
    const folder = join(root, "work");
    await mkdir(join(folder, "sub"), { recursive: true });
    await writeFile(join(root, "secret"), "");
    await symlink(root, join(folder, "up"));
    await symlink(join(root, "secret"), join(folder, "sub", "link"));
    await symlink(join(root, "new"), join(folder, "dangling"));
    for (const path of ["x", "sub/../x", "new/deep/file", join(folder, "x"), "."])
      assert.equal(await isInside(folder, path), true, path);
    for (const path of [
      "..",
      "../secret",
      "/etc/passwd",
      "up/secret",
      "up",
      "sub/link",
      "dangling",
      "~/x",
      `${folder}-2/x`,
      "a\0b",
    ])
      assert.equal(await isInside(folder, path), false, path);

    for (const text of [
      "cat /etc/passwd",
      "cat ../secret",
      "cat up/secret",
      "cat sub/link",
      "cat --file=/etc/passwd",
      "cat -C/etc",
      "cat '../secret'",
      "cat ~/secret",
      "cd",
      "cd -",
      "cd ~",
      "cd sub sub",
      "cd sub && cat link",
      "cd up && cat secret",
      "cd .. && cat secret",
      "cd sub | cat ../secret",
    ])
      assert.equal((await decideBy(folder, text, "allow command cat")).decision, "ask", text);
    const allowed = await decideBy(folder, `cd ${folder}; cat x ./y`, "allow command cat");
    assert.equal(allowed.decision, "allow", allowed.why);
  });

  test("rules allow edits outside .git, reads inside the folder and tools by name, but never addresses", async t => {
    const folder = await tempFolder(t);
    const rules = ["allow edits", "allow reads", "allow tool a/b"].map(parseRule);
    const edit = (...paths: string[]) => decide({ kind: "edit", title: "", paths }, folder, rules);
    assert.equal((await edit("x", "y/z")).decision, "allow");
    assert.equal((await edit("x", "../y")).decision, "ask");
    assert.equal((await edit(".git/hooks/pre-commit")).decision, "ask");
    assert.equal((await edit("sub/.GIT/config")).decision, "ask");
    assert.equal((await edit()).decision, "ask");
    assert.equal(
      (await decide({ kind: "read", title: "", paths: [".git/HEAD"] }, folder, rules)).decision,
      "allow",
    );
    for (const [kind, path, decision] of [
      ["search", "src", "allow"],
      ["search", "..", "ask"],
      ["move", "x", "allow"],
      ["delete", "../x", "ask"],
    ] as const)
      assert.equal(
        (await decide({ kind, title: "", paths: [path] }, folder, rules)).decision,
        decision,
        `${kind} ${path}`,
      );
    const outside = { kind: "read", title: "", paths: ["x"], outside: true } as const;
    assert.equal((await decide(outside, folder, rules)).decision, "ask");
    assert.equal((await decide({ kind: "other", title: "", tool: "a/b" }, folder, rules)).decision, "allow");
    assert.equal((await decide({ kind: "other", title: "", tool: "a/bc" }, folder, rules)).decision, "ask");
    assert.equal(
      (await decide({ kind: "fetch", title: "", url: "https://a" }, folder, rules)).decision,
      "ask",
    );
  });

  test('"always" names exactly the rules it would remember, and none where no rule may decide', async t => {
    const folder = await tempFolder(t);
    for (const [line, rules] of [
      ["git status -s | wc", ["allow command git status", "allow command wc"]],
      ["git --no-pager log -5 2>&1", ["allow command git log"]],
      ["git commit -m 'one two'", ["allow command git commit -m 'one two'"]],
      ["npm ci && npm test", ["allow command npm ci", "allow command npm test"]],
      ["sort -o out in", ["allow command sort -o out in"]],
      [`cd ${folder} && ls src`, ["allow command ls"]],
      ["./build.sh x", ["allow command ./build.sh x"]],
      ["curl -sS https://a.example/x", ["allow command curl -sS https://a.example/x"]],
    ] as const)
      assert.deepEqual(await rulesFor(command(line), folder, "allow"), rules, line);
    for (const text of [
      "sudo ls",
      "cat /etc/passwd",
      "ls > x",
      "cd sub",
      "ls; cd",
      "curl file:///etc/passwd",
    ])
      assert.deepEqual(await rulesFor(command(text), folder, "allow"), [], text);
    assert.deepEqual(await rulesFor(command(`node ${"x".repeat(1000)}`), folder, "allow"), []);
    assert.deepEqual(await rulesFor(command("git push --force x"), folder, "reject"), [
      "reject command git push",
    ]);
    assert.deepEqual(await rulesFor({ kind: "edit", title: "", paths: ["x"] }, folder, "reject"), [
      "reject edits",
    ]);
    assert.deepEqual(await rulesFor({ kind: "edit", title: "", paths: ["/x"] }, folder, "allow"), []);
    assert.deepEqual(await rulesFor({ kind: "fetch", title: "", url: "https://a" }, folder, "allow"), []);
  });
});

describe("The card says what a rule would cover before the user makes it", () => {
  for (const [rule, words] of [
    [
      "allow command git status",
      "Every `git status` on files inside this folder, with options that are known to be harmless",
    ],
    [
      "allow command head -n",
      "Every `head -n` on files inside this folder, with options that are known to be harmless",
    ],
    ["allow command npm test", "Exactly `npm test`, word for word, and nothing else"],
    ["allow command sort -o 'a b' c", "Exactly `sort -o 'a b' c`, word for word, and nothing else"],
    ["reject command rm", "Every command that begins with `rm`"],
    [
      "allow edits",
      "Every change to a file inside this folder, except in .git and in files that something runs by itself",
    ],
    ["reject reads", "Every read of a file"],
    [
      `allow startup .mcp.json ${"0".repeat(64)}`,
      "What `.mcp.json` runs by itself, as long as its content stays the same",
    ],
    ["allow tool github/search", "Every use of the tool `github/search`, whatever it is asked to do"],
  ] as const)
    test(`"${rule}" covers: ${words}`, () => assert.equal(coverageOf(parseRule(rule)), words));
});
