import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { performance } from "node:perf_hooks";
import { after, describe, test } from "node:test";
import type { Action } from "../../src/permissions/action.js";
import { fileTools, quietTools } from "../../src/permissions/commands/programs/fileTools.js";
import { gitTools } from "../../src/permissions/commands/programs/gitTools.js";
import type { Program } from "../../src/permissions/commands/programs/program.js";
import { searchTools } from "../../src/permissions/commands/programs/searchTools.js";
import { decide, parseRule, rulesFor } from "../../src/permissions/rules.js";
import { harmlessLines } from "../support/hostile/harmlessLines.js";
import { hostileLines } from "../support/hostile/hostileLines.js";
import { shells, watchedFolder } from "../support/hostile/watchedFolder.js";
import { randomFrom } from "../support/kills/randomLog.js";

/** `FUZZ_SEED=… npm test -- hostileCommandsFuzz` repeats a run; `FUZZ_RUNS=2000` makes it longer. */
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
const random = randomFrom(seed);
const below = (count: number) => Math.floor(random() * count);
function pick<Item>(items: readonly Item[]): Item {
  const item = items[below(items.length)];
  if (item === undefined) throw new Error("nothing to choose from");
  return item;
}

/** How many of the allowed lines are run; a busy machine stops earlier, but always runs some. */
const runs = Number(process.env.FUZZ_RUNS ?? 100);
const leastRuns = 20;
const enoughMs = process.env.FUZZ_RUNS || process.env.FUZZ_SEED ? Number.POSITIVE_INFINITY : 5000;

const paths = [
  ...[
    "../secret",
    "up/secret",
    "sub/conf.link",
    "pkg/../secret",
    "in/../../secret",
    "/etc/passwd",
    "dangling",
    "-L",
  ],
  ...[
    "one",
    "two",
    "sub",
    "in",
    ".",
    "..",
    "a.txt",
    "new",
    "'a b'",
    "'*'",
    "sub/../a.txt",
    "./-L",
    "HEAD",
    ".git",
  ],
];
const pieces = [
  ...[
    "*",
    ".?",
    "sub/c*",
    "[a-z]*",
    "{a.txt,../secret}",
    "$HOME",
    "~",
    "$(cat ../secret)",
    "`cat ../secret`",
    "\\",
  ],
  ...[
    ">../new",
    "> a.txt",
    "2>&1",
    ">/dev/null",
    "< ../secret",
    "&",
    "|",
    ";",
    "&&",
    "||",
    "\n",
    "#",
    "!",
    "'",
    '"',
  ],
  ...[
    "cd ..;",
    "cd sub &&",
    "export PATH=sub;",
    "PATH=sub",
    "| xargs cat",
    "| sh",
    "\u00a0",
    "\r",
    "\0",
    "--",
    "-",
  ],
];
const longNames = `output files0-from dereference recursive follow exec no-index ext-diff textconv show-signature contents
  file include color format=%G? pre=cat compress-program=cat open-files-in-pager=cat git-dir=up upload-pack=cat`;
const options = [
  ...longNames.split(/\s+/).map(name => `--${name}`),
  ...Array.from("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", letter => `-${letter}`),
  ...[
    "-exec cat {} +",
    "-delete",
    "-fprint ../new",
    "-newer ../secret",
    "-o../new",
    "-f../secret",
    "-O./x",
    "-c x=y",
  ],
];
const anything = () => pick(pick([paths, pieces, options]));

/** The line with one or more changes. */
function mutated(line: string): string {
  const words = line.split(" ");
  for (let count = 1 + below(3); count > 0; count--) {
    const at = below(words.length + 1);
    const word = words[at] ?? "";
    const change = below(6);
    if (change === 0) words.splice(at, 0, anything());
    else if (change === 1) words.splice(at, 1, anything());
    else if (change === 2) words.splice(at, 1);
    else if (change === 3) words.splice(at, 1, word.slice(0, below(word.length + 1)) + anything());
    else if (change === 4) words.push(pick(["&&", "|", ";", "||"]), pick(harmlessLines));
    else words.splice(at, 1, pick(hostileLines)[1]);
  }
  return words.join(" ");
}

const tools: Readonly<Record<string, Program>> = {
  ...fileTools,
  ...quietTools,
  ...searchTools,
  ...Object.fromEntries(Object.entries(gitTools).map(([name, program]) => [`git ${name}`, program])),
};

/** A line with options that the tables list as harmless. */
function fromTables(): string {
  const name = pick(Object.keys(tools));
  const {
    flags = "",
    long = "",
    letters = {},
    longValues = {},
    longOptional = {},
    words = {},
  } = tools[name] ?? {};
  const value = () => pick(["1", "x", ".", "a.txt", "'*'", "+%s", "HEAD", "plain"]);
  const known = [
    ...Array.from(flags, flag => () => `-${flag}`),
    ...long
      .split(/\s+/)
      .filter(Boolean)
      .map(option => () => `--${option}`),
    ...Object.keys(letters).map(letter => () => `-${letter} ${value()}`),
    ...Object.keys({ ...longValues, ...longOptional }).map(option => () => `--${option}=${value()}`),
    ...Object.entries(words).map(
      ([word, kind]) =>
        () =>
          kind === "alone" ? `'${word}'` : `${word} ${value()}`,
    ),
    () => pick(paths),
    () => pick(["plain", "a.txt", "sub", "HEAD", "."]),
  ];
  const chosen = Array.from({ length: 1 + below(4) }, () => pick(known)());
  return [name, ...chosen].join(" ");
}

const command = (line: string): Action => ({ kind: "execute", title: line, command: line });
const watched = await watchedFolder({ after });
const { folder } = watched;

/** Runs the lines that the rules allow in both shells. */
async function runAllowed(newLine: () => string): Promise<void> {
  const offered = await Promise.all(harmlessLines.map(line => rulesFor(command(line), folder, "allow")));
  const tableRules = Object.keys(tools).map(name => `allow command ${name}`);
  const rules = [...new Set([...offered.flat(), ...tableRules])].map(parseRule);
  const start = performance.now();
  const seen = new Set<string>();
  let ran = 0;
  for (let made = 0; ran < runs && made < runs * 100; made++) {
    if (ran >= leastRuns && performance.now() - start > enoughMs) break;
    const line = newLine();
    if (seen.has(line)) continue;
    seen.add(line);
    if ((await decide(command(line), folder, rules)).decision !== "allow") continue;
    await Promise.all(shells.map(shell => watched.run(shell, line)));
    ran++;
  }
  assert.ok(ran >= leastRuns, `only ${ran} lines were allowed`);
}

describe(`Whatever the rules allow touches nothing outside the folder (FUZZ_SEED=${seed})`, () => {
  test("harmless lines with random changes touch nothing outside when the rules allow them", () =>
    runAllowed(() => mutated(pick(harmlessLines))));

  test("known programs with known options touch nothing outside", () => runAllowed(fromTables));
});
