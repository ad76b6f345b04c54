import { execFileSync } from "node:child_process";
import { availableParallelism, loadavg, totalmem } from "node:os";
import { packageRoot } from "../../src/base/paths.js";
import type { Row } from "./row.js";
import type { Spread } from "./turns.js";

/** What a reader needs to judge the figures, and nothing that says whose machine it is. */
export interface Machine {
  cores: number;
  memoryGiB: number;
  platform: string;
  node: string;
  /** Followed by + when files differ from it. */
  commit: string;
  loadAtStart: number;
  loadAtEnd: number;
}

/** Call it before the first measurement; the result is for after the last one. */
export function watchMachine(): () => Machine {
  const loadAtStart = load();
  return () => ({
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
    commit: commit(),
    loadAtStart,
    loadAtEnd: load(),
  });
}

/** How many processes ran or waited for a core in the last minute. */
function load(): number {
  return round(loadavg()[0] ?? Number.NaN);
}

function commit(): string {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: packageRoot, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  try {
    return git("rev-parse", "--short=12", "HEAD").trim() + (git("status", "--porcelain") === "" ? "" : "+");
  } catch {
    return "unknown";
  }
}

export function table(rows: readonly Row[]): string {
  const cells = [
    ["figure", "measured (min–max)", "reference (min–max)", "ratio (min–max)", "goal", ""],
    ...rows.map(({ figure, unit, value, reference, ratio, goal, verdict }) => [
      figure,
      shown(value, unit),
      shown(reference, unit),
      shown(ratio, "×"),
      goal,
      verdict === "missed" || verdict === "noisy" ? verdict.toUpperCase() : verdict,
    ]),
  ];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map(row => row[column]?.length ?? 0))) ?? [];
  return cells
    .map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function shown(spread: Spread | undefined, unit: string): string {
  // A ratio to nothing is none.
  if (!spread || !Number.isFinite(spread.median)) return "–";
  const { median, min, max, rounds } = spread;
  const value = `${round(median)} ${unit}`.trim();
  return rounds > 1 ? `${value} (${round(min)}–${round(max)})` : value;
}

/** The figures as numbers, as precise as a shared machine allows. */
export function report(rows: readonly Row[], names: readonly string[], machine: Machine): string {
  const parts = { takenAt: new Date().toISOString(), machine, benches: names, rows };
  const precise = (_: string, value: unknown) =>
    typeof value === "number" && !Number.isInteger(value) ? round(value) : value;
  return `${JSON.stringify(parts, precise, 2)}\n`;
}

export function round(value: number): number {
  return Number(value.toPrecision(3));
}
