import type { Program } from "./program.js";

const lines: Program = {
  flags: "qvz",
  letters: { n: "number", c: "number" },
  long: "quiet silent verbose",
  longValues: { lines: "number", bytes: "number" },
  takesCount: true,
  operands: "path",
};

/** Without `-c`, which reads the names of other files from a file. */
const checksum: Program = { flags: "btz", long: "tag", operands: "path" };

/** Programs that read files, and two that create empty ones. None of these options writes, runs, or follows links. */
export const fileTools: Readonly<Record<string, Program>> = {
  ls: {
    flags: "1AFSRXUacdfghiklmnopqrstux",
    long: "all almost-all human-readable recursive reverse size inode directory full-time group-directories-first",
    longOptional: { color: "name", classify: "name" },
    longValues: { sort: "name", time: "name", "time-style": "text" },
    operands: "path",
  },
  cat: {
    flags: "AbEenstTuv",
    long: "number number-nonblank show-all show-ends show-tabs squeeze-blank",
    operands: "path",
  },
  head: lines,
  tail: lines,
  wc: { flags: "clmwL", long: "bytes chars lines words max-line-length", operands: "path" },
  nl: { flags: "p", letters: { b: "name", w: "number", v: "number", i: "number" }, operands: "path" },
  tac: { operands: "path" },
  rev: { operands: "path" },
  cut: {
    flags: "sz",
    letters: { b: "text", c: "text", d: "text", f: "text" },
    long: "only-delimited complement",
    longValues: { bytes: "text", characters: "text", delimiter: "text", fields: "text" },
    operands: "path",
  },
  paste: { flags: "sz", letters: { d: "text" }, operands: "path" },
  comm: { flags: "123z", operands: "path", maxOperands: 2 },
  tr: { flags: "cCdst", operands: "text", maxOperands: 2 },
  sort: {
    flags: "bdfghiMnrRsuVcCmz",
    letters: { k: "text", t: "text" },
    long: "ignore-case numeric-sort general-numeric-sort human-numeric-sort version-sort reverse unique stable",
    longValues: { key: "text", "field-separator": "text" },
    operands: "path",
  },
  // A second operand would be an output file.
  uniq: {
    flags: "cdDiuz",
    letters: { f: "number", s: "number", w: "number" },
    long: "count repeated unique ignore-case",
    operands: "path",
    maxOperands: 1,
  },
  // For folders, diff would follow the links inside them.
  diff: {
    flags: "uqsiwbBEyNat",
    letters: { U: "number", C: "number" },
    long: "brief unified side-by-side ignore-case ignore-all-space ignore-space-change ignore-blank-lines new-file text",
    longOptional: { color: "name" },
    operands: "file",
    maxOperands: 2,
  },
  cmp: { flags: "bls", operands: "file", maxOperands: 2 },
  stat: {
    flags: "t",
    letters: { c: "text" },
    longValues: { format: "text" },
    long: "terse",
    operands: "path",
  },
  file: { flags: "bikN", long: "brief mime mime-type mime-encoding", operands: "path" },
  du: {
    flags: "abchkmsxS0",
    letters: { d: "number" },
    long: "all bytes human-readable summarize total apparent-size one-file-system",
    longValues: { "max-depth": "number" },
    operands: "path",
  },
  tree: {
    flags: "adfhpsCDFin",
    letters: { L: "number", I: "text", P: "text" },
    valuesApart: true,
    long: "dirsfirst noreport du prune gitignore",
    operands: "path",
  },
  readlink: { flags: "femnz", long: "canonicalize", operands: "path" },
  realpath: { flags: "emsz", operands: "path" },
  md5sum: checksum,
  sha1sum: checksum,
  sha256sum: checksum,
  sha512sum: checksum,
  mkdir: { flags: "pv", long: "parents verbose", operands: "new" },
  touch: { flags: "acm", long: "no-create", operands: "new" },
  test: {
    isExpression: true,
    words: {
      "-e": "path",
      "-f": "path",
      "-d": "path",
      "-r": "path",
      "-w": "path",
      "-x": "path",
      "-s": "path",
      "-L": "path",
    },
  },
};

/** Programs that touch no file at all. */
export const quietTools: Readonly<Record<string, Program>> = {
  echo: { flags: "neE", operands: "text" },
  pwd: { flags: "LP" },
  true: {},
  false: {},
  basename: { flags: "az", letters: { s: "text" }, operands: "text" },
  dirname: { flags: "z", operands: "text" },
  date: {
    flags: "uR",
    long: "utc universal",
    longOptional: { "iso-8601": "name", "rfc-3339": "name" },
    operands: "date",
  },
  whoami: {},
  id: { flags: "gnu" },
  uname: { flags: "asnrvmpio" },
  nproc: {},
  sleep: { operands: "number", maxOperands: 1 },
  which: { flags: "a", operands: "name" },
};
