import type { Kind, Program } from "./program.js";

const diffLong = `patch no-patch stat numstat shortstat dirstat summary name-only name-status raw minimal patience
  histogram check full-index binary exit-code quiet ignore-all-space ignore-space-change ignore-space-at-eol
  ignore-blank-lines no-ext-diff no-textconv no-renames no-color text pickaxe-all cached staged merge-base`;
const diffOptional: Record<string, Kind> = {
  stat: "name",
  abbrev: "number",
  color: "name",
  "word-diff": "name",
  "find-renames": "number",
  "find-copies": "number",
  "color-words": "text",
};
const diffValues: Record<string, Kind> = {
  unified: "number",
  "diff-filter": "name",
  "diff-algorithm": "name",
};
const diffLetters: Record<string, Kind> = { U: "number", S: "text", G: "text" };

/** Without `--output`, `--ext-diff`, `--no-index`, `-O` and the like. */
const diff: Program = {
  flags: "puswbzMCDRaWq",
  letters: diffLetters,
  long: diffLong,
  longValues: diffValues,
  longOptional: diffOptional,
  operands: "revision",
};

/** Without `--show-signature`, which runs gpg. */
const log: Program = {
  ...diff,
  flags: `${diff.flags}gimcE`,
  letters: { ...diffLetters, n: "number" },
  long: `${diffLong} oneline graph all branches tags remotes follow first-parent merges no-merges reverse decorate
    no-decorate abbrev-commit no-abbrev-commit date-order topo-order author-date-order full-history left-right
    cherry-pick cherry boundary simplify-by-decoration no-notes parents root`,
  longValues: {
    ...diffValues,
    "max-count": "number",
    skip: "number",
    since: "text",
    after: "text",
    until: "text",
    before: "text",
    author: "text",
    committer: "text",
    grep: "text",
  },
  longOptional: { ...diffOptional, format: "format", pretty: "format", date: "text", decorate: "name" },
  takesCount: true,
};

/**
 * The subcommands that only read a repository. Everything else in git creates, moves, runs hooks or talks to other
 * machines. `gitRepository.ts` checks what a repository's own settings would run.
 */
export const gitTools: Readonly<Record<string, Program>> = {
  status: {
    flags: "sbvz",
    letters: {},
    long: "short branch long verbose show-stash ahead-behind no-ahead-behind no-renames renames",
    longOptional: { porcelain: "name", ignored: "name", "untracked-files": "name" },
    words: { "-u": "alone", "-uno": "alone", "-uall": "alone", "-unormal": "alone" },
    operands: "path",
  },
  log,
  show: log,
  diff,
  "diff-tree": { ...diff, flags: `${diff.flags}rtmc` },
  shortlog: {
    flags: "nse",
    long: "all no-merges",
    longValues: { since: "text", until: "text" },
    operands: "revision",
  },
  "rev-list": {
    flags: "",
    long: "count all oneline first-parent merges no-merges reverse left-right",
    longValues: { "max-count": "number", since: "text", until: "text", author: "text" },
    takesCount: true,
    operands: "revision",
  },
  "rev-parse": {
    flags: "q",
    long: `abbrev-ref verify quiet show-toplevel show-prefix show-cdup git-dir git-common-dir is-inside-work-tree
      is-bare-repository is-inside-git-dir all branches tags remotes symbolic-full-name`,
    longOptional: { short: "number", "abbrev-ref": "name" },
    operands: "revision",
  },
  "merge-base": { flags: "a", long: "all is-ancestor fork-point", operands: "revision" },
  "ls-files": {
    flags: "cdmostuvzk",
    long: "cached deleted modified others stage unmerged killed exclude-standard full-name error-unmatch eol",
    operands: "path",
  },
  "ls-tree": { flags: "rtdlz", long: "name-only name-status full-name full-tree long", operands: "revision" },
  blame: {
    flags: "bcefnlstwMC",
    letters: { L: "text" },
    long: "show-name show-number show-email porcelain line-porcelain root",
    longValues: { date: "text", since: "text" },
    operands: "revision",
  },
  describe: {
    long: "all tags always long exact-match first-parent dirty",
    longValues: { match: "text", exclude: "text", candidates: "number" },
    longOptional: { abbrev: "number" },
    operands: "revision",
  },
  "cat-file": { flags: "pts", maxOperands: 1, operands: "revision" },
  // Without `-O`, which opens a pager, and `--no-index`.
  grep: {
    flags: "EFGPivwxclLnoqhHaIpWz",
    letters: { e: "text", A: "number", B: "number", C: "number", m: "number" },
    long: `extended-regexp fixed-strings basic-regexp perl-regexp ignore-case invert-match word-regexp count
      files-with-matches name-only files-without-match line-number only-matching quiet heading break show-function
      function-context and or not all-match cached`,
    longValues: {
      "after-context": "number",
      "before-context": "number",
      context: "number",
      "max-depth": "number",
    },
    longOptional: { color: "name" },
    first: { kind: "text", instead: ["-e"] },
    operands: "revision",
  },
  // An operand would create a branch, a tag or a remote.
  branch: {
    flags: "arvl",
    long: "all remotes list verbose show-current no-color no-column",
    longOptional: { color: "name", column: "name" },
    longValues: { sort: "name" },
  },
  tag: { flags: "l", long: "list no-column", longValues: { sort: "name" }, longOptional: { column: "name" } },
  remote: { flags: "v", long: "verbose" },
  "stash list": { takesCount: true, long: "oneline" },
  "worktree list": { flags: "vz", long: "porcelain verbose" },
};
