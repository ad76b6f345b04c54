import { execFileSync } from "node:child_process";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Snapshots } from "../src/changes/snapshots.js";
import { tempFolder } from "../test/support/cleanup.js";
import { byPrompt } from "../test/support/model/scriptedModel.js";
import { portalWithModel, type RestSession } from "../test/support/portal/restSession.js";
import { compare, comparedRow, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { timed } from "./support/turns.js";

const files = 20_000;
const filesInFolder = 100;
const rounds = 5;
const turns = 8;

function git(folder: string, ...args: string[]): void {
  const identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
  execFileSync("git", ["-C", folder, ...identity, ...args], { stdio: "ignore" });
}

async function largeRepository(folder: string): Promise<void> {
  for (let at = 0; at < files; at += filesInFolder) {
    const below = join(folder, `folder ${at / filesInFolder}`);
    await mkdir(below);
    const names = Array.from({ length: filesInFolder }, (_, i) => join(below, `file ${i}.txt`));
    await Promise.all(names.map(name => writeFile(name, `the content of ${name}\n`)));
  }
  git(folder, "init", "-q");
  git(folder, "add", "-A");
  git(folder, "commit", "-qm", "all");
}

/** Both look at every file. */
function snapshotRows(): Promise<Row[]> {
  return inScope(async scope => {
    const folder = await tempFolder(scope, "large");
    await largeRepository(folder);
    const data = await tempFolder(scope);
    const snapshots = new Snapshots(join(data, "changes"));
    let round = 0;
    const goal = { atMost: 3 };
    const figure = `snapshot of ${files} files`;
    return compare({
      rounds,
      warmUp: true,
      unit: "ms",
      reference: {
        name: `git status of ${files} files`,
        take: () => timed(async () => git(folder, "status", "--porcelain")),
      },
      subjects: {
        [`${figure}, the first`]: {
          take: () => timed(() => new Snapshots(join(data, `first ${++round}`)).take(folder)),
          goal,
        },
        [`${figure}, nothing changed`]: { take: () => timed(() => snapshots.take(folder)), goal },
        [`${figure}, one file changed`]: {
          take: async () => {
            await writeFile(join(folder, "folder 7", "file 7.txt"), `round ${++round}\n`);
            return timed(() => snapshots.take(folder));
          },
          goal,
        },
      },
    });
  });
}

interface Turn {
  firstMs: number;
  wholeMs: number;
}

/** A turn as a page sees it. */
function turnsOf(session: RestSession): () => Promise<Turn> {
  const events = session.events();
  return async () => {
    const start = performance.now();
    await session.query("paced");
    for (let firstMs = 0; ; ) {
      const { value, done } = await events.next();
      if (value?.data.callback === "onMessage" && firstMs === 0) firstMs = performance.now() - start;
      if (done || value.data.callback === "onIdle") return { firstMs, wholeMs: performance.now() - start };
    }
  };
}

/** The same turn in a repository and, with `.git` out of the way, in a plain folder, where nothing is recorded. */
function turnRows(): Promise<Row[]> {
  return inScope(async scope => {
    const script = byPrompt({ paced: [{ text: "word ".repeat(100), chunkSize: 5, delayMs: 20 }] });
    const { startSession, workingDirectory } = await portalWithModel(scope, script);
    const [own, away] = [join(workingDirectory, ".git"), join(workingDirectory, "away.git")];
    git(workingDirectory, "init", "-q");
    const turn = turnsOf(await startSession());
    const taken = { plain: [] as Turn[], recorded: [] as Turn[] };
    for (let round = 0; round <= turns; round++) {
      await rename(own, away);
      const plain = await turn();
      await rename(away, own);
      const recorded = await turn();
      // The first round is a warm-up.
      if (round === 0) continue;
      taken.plain.push(plain);
      taken.recorded.push(recorded);
    }
    const row = (what: keyof Turn, name: string, atMost: number) =>
      comparedRow(
        `turn with snapshots beside one without: ${name}`,
        "ms",
        taken.recorded.map(each => each[what]),
        taken.plain.map(each => each[what]),
        { atMost },
      );
    return [row("wholeMs", "the whole turn", 1.05), row("firstMs", "its first token", 1.05)];
  });
}

export async function changeRows(): Promise<Row[]> {
  return [...(await snapshotRows()), ...(await turnRows())];
}
