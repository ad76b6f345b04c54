import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { isInside } from "../src/base/inside.js";
import { parseCommandLine, prefixOf } from "../src/permissions/commandLine.js";
import { readPolicy } from "../src/permissions/policy.js";
import { decide, parseRule, rulesFor, ruleText } from "../src/permissions/rules.js";
import { PortalError } from "../src/portalError.js";
import { tempFolder } from "./support/cleanup.js";

describe("A command line is read strictly", () => {
  const read: Record<string, string[][]> = {
    "git status": [["git", "status"]],
    "  npm   run\tbuild ": [["npm", "run", "build"]],
    "a && b || c; d | e & f\ng": [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]],
    "grep 'a && b; $(c)' x": [["grep", "a && b; $(c)", "x"]],
    'git commit -m "one; two | three"': [["git", "commit", "-m", "one; two | three"]],
    "a'b'\"c\"d ''": [["abcd", ""]],
    "echo a#b": [["echo", "a#b"]],
    "find . -name '*.ts'": [["find", ".", "-name", "*.ts"]],
    "cd sub && ls": [["cd", "sub"], ["ls"]],
  };
  for (const [line, commands] of Object.entries(read)) {
    test(`reads ${JSON.stringify(line)}`, () => assert.deepEqual(parseCommandLine(line), { commands }));
  }

  const hostile = [
    "",
    " ; ; ",
    "git status > /etc/passwd",
    "git status >> x",
    "cat < secret",
    "cat << EOF",
    "git status $(rm -rf x)",
    "git status `rm -rf x`",
    'git status "$(rm -rf x)"',
    'git status "`rm -rf x`"',
    "diff <(a) b",
    "git $X",
    `git\${IFS}push`,
    'git "$X"',
    "X=1 git status",
    "GIT_PAGER=evil git log",
    "sudo git status",
    "SUDO git status",
    "env git status",
    "git ls-files | xargs rm",
    "eval git status",
    "sh -c 'rm -rf x'",
    "bash script",
    "git status; exec rm x",
    "timeout 5 rm x",
    "for f in x; do rm $f; done",
    "if true; then rm x; fi",
    "(rm x)",
    "{ rm x; }",
    "git status 'unfinished",
    'git status "unfinished',
    "git status # '\nrm -rf x # '",
    "# '\nrm -rf x # '",
    'git log "\\"; rm x; echo "\\""',
    "git sta\\tus",
    "git status \\\nrm",
    'echo "a!b"',
    "*/evil x",
    "~/evil x",
    "[ -f x ]",
    "find . -delete",
    "find . -exec rm {} +",
    "find . -fprintf out x",
    "pushd a",
    "git status\u0000rm",
    "git status\u001b[A",
    "f() rm",
  ];
  for (const line of hostile) {
    test(`leaves ${JSON.stringify(line)} to the user`, () => {
      const { commands, problem } = parseCommandLine(line);
      assert.equal(commands, undefined);
      assert.match(problem ?? "", /^It has .*\.$/s);
    });
  }

  test("remembers the program, with the subcommand where a program is many", () => {
    assert.deepEqual(prefixOf(["ls", "-l"]), ["ls"]);
    assert.deepEqual(prefixOf(["./build.sh", "x"]), ["./build.sh"]);
    assert.deepEqual(prefixOf(["git", "push", "--force"]), ["git", "push"]);
    assert.equal(prefixOf(["git"]), undefined);
    assert.equal(prefixOf(["git", "-c", "core.pager=evil"]), undefined);
    assert.equal(prefixOf(["npx", "--yes", "evil"]), undefined);
  });
});

describe("A rule is one line that people read", () => {
  for (const text of [
    "allow command git status",
    "reject command rm",
    "allow edits",
    "reject reads",
    "allow tool github/search",
    "allow command echo 'a b'",
  ])
    test(`"${text}" is read and written the same`, () => assert.equal(ruleText(parseRule(text)), text));

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
    "__proto__ constructor toString",
  ])
    test(`"${text}" is refused by name`, () => {
      assert.throws(
        () => parseRule(text),
        (error: unknown) =>
          error instanceof PortalError && error.code === "RuleInvalid" && error.message.startsWith('"'),
      );
    });
});

describe("A policy file", () => {
  test("that is no JSON, or not there, is refused by its name", async t => {
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

  test("holds its rules as people write them, for folders as they are", async t => {
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
    assert.equal((await decideBy(folder, "git statusx", git)).decision, "ask");
    assert.equal((await decideBy(folder, "git", git)).decision, "ask");
    assert.equal((await decideBy(folder, "git -c a=b status", git)).decision, "ask");
    assert.equal((await decideBy(folder, "git status && rm x", git)).decision, "ask");
    assert.deepEqual(await decideBy(folder, "git status | wc -l", git, "allow command wc"), {
      decision: "allow",
      rules: [git, "allow command wc"],
      why: "Rules allow it.",
    });
    const rejected = await decideBy(
      folder,
      "git push --force",
      "allow command git push",
      "reject command git push --force",
    );
    assert.deepEqual([rejected.decision, rejected.rules], ["reject", ["reject command git push --force"]]);
    assert.equal((await decideBy(folder, "rm x; echo $HOME", "reject command rm")).decision, "ask");
    assert.equal((await decideBy(folder, "git status")).decision, "ask", "no rules are built in");
  });

  test("nothing that reaches outside the folder is decided by a rule, however it is written", async t => {
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
      "cat host:/etc/passwd",
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
      assert.equal(
        (await decideBy(folder, text, "allow command cat", "allow command cd")).decision,
        "ask",
        text,
      );
    const allowed = await decideBy(
      folder,
      "cd sub && cat x ./y https://a.example/..",
      "allow command cat",
      "allow command cd",
    );
    assert.equal(allowed.decision, "allow", allowed.why);
  });

  test("edits and reads inside the folder, without .git for edits; tools by name; addresses never", async t => {
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

  test('"always" names exactly what it would remember, and nothing where no rule may decide', async t => {
    const folder = await tempFolder(t);
    assert.deepEqual(await rulesFor(command("git status -s | wc"), folder, "allow"), [
      "allow command git status",
      "allow command wc",
    ]);
    for (const text of ["sudo ls", "git", "cat /etc/passwd", "ls > x"])
      assert.deepEqual(await rulesFor(command(text), folder, "allow"), [], text);
    assert.deepEqual(await rulesFor({ kind: "edit", title: "", paths: ["x"] }, folder, "reject"), [
      "reject edits",
    ]);
    assert.deepEqual(await rulesFor({ kind: "edit", title: "", paths: ["/x"] }, folder, "allow"), []);
    assert.deepEqual(await rulesFor({ kind: "fetch", title: "", url: "https://a" }, folder, "allow"), []);
  });
});
