import type { Program } from "./program.js";

/** Without `-R`, which follows links, and `-f`, which reads patterns from a file. */
const grep: Program = {
  flags: "EFGPivwxclLnoqshHraIzZbTU",
  letters: { e: "text", A: "number", B: "number", C: "number", m: "number" },
  long: `extended-regexp fixed-strings basic-regexp perl-regexp ignore-case invert-match word-regexp line-regexp count
    files-with-matches files-without-match line-number only-matching quiet silent no-messages no-filename
    with-filename recursive text null`,
  longValues: {
    regexp: "text",
    "after-context": "number",
    "before-context": "number",
    context: "number",
    "max-count": "number",
    include: "text",
    exclude: "text",
    "exclude-dir": "text",
  },
  longOptional: { color: "name", colour: "name" },
  takesCount: true,
  first: { kind: "text", instead: ["-e", "--regexp"] },
  operands: "path",
};

const findTests = `-name -iname -path -ipath -wholename -regex -iregex -regextype -type -size -mtime -mmin -atime -amin
  -ctime -cmin -perm -user -group -maxdepth -mindepth -printf`;
const findWords = `-empty -not ! ( ) , -o -or -a -and -print -print0 -prune -ls -readable -writable -executable -daystart
  -mount -xdev -depth -true -false -P`;
const each = <Value>(text: string, value: Value) =>
  Object.fromEntries(text.split(/\s+/).map(word => [word, value]));

/** Programs that search. None of these options runs another program, writes, or follows links. */
export const searchTools: Readonly<Record<string, Program>> = {
  grep,
  egrep: grep,
  fgrep: grep,
  // Without `-L`, which follows links, `--pre`, which runs a program, and `-z`, which runs several.
  rg: {
    flags: "iSsvwxclnNoquFPUHI0ap",
    letters: {
      e: "text",
      g: "text",
      t: "name",
      T: "name",
      A: "number",
      B: "number",
      C: "number",
      m: "number",
      r: "text",
    },
    long: `ignore-case smart-case case-sensitive invert-match word-regexp line-regexp count count-matches
      files-with-matches files-without-match line-number no-line-number only-matching quiet fixed-strings pcre2
      multiline with-filename no-filename text hidden no-ignore no-ignore-vcs files json stats heading no-heading
      trim vimgrep column no-messages type-list`,
    longValues: {
      regexp: "text",
      glob: "text",
      iglob: "text",
      type: "name",
      "type-not": "name",
      "after-context": "number",
      "before-context": "number",
      context: "number",
      "max-count": "number",
      "max-depth": "number",
      "max-columns": "number",
      color: "name",
      sort: "name",
      replace: "text",
    },
    first: { kind: "text", instead: ["-e", "--regexp", "--files", "--type-list"] },
    operands: "path",
  },
  // Without the actions that run, delete or write.
  find: {
    isExpression: true,
    words: { ...each(findTests, "text" as const), ...each(findWords, "alone" as const), "-newer": "path" },
    operands: "path",
  },
};
