import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { exportedPage } from "../src/api/exportedPage.js";
import { laidOutChart } from "../src/jobs/chartLayout.js";
import type { Work } from "../src/jobsDef.js";
import { tempFolder } from "../test/support/cleanup.js";
import { launchBrowser } from "../test/support/pages/browser.js";
import { absoluteRow, type Row } from "./support/row.js";
import { inScope } from "./support/scope.js";
import { fewestRounds, repeat, timed } from "./support/turns.js";

const works = 200;
const noon = 1_700_000_000_000;
const secondsPerWork = 60;

/** A job with this many works, each with a session that runs ten commands and says what it found. */
function responses(): object[] {
  const job: object[] = [];
  const below: object[] = [];
  for (let workId = 0; workId < works; workId++) {
    const [taskId, sessionId] = [`j.w.${workId}`, `s${workId}`];
    let time = noon + workId * secondsPerWork * 1000;
    const next = () => (time += 1000);
    job.push({ source: "job", id: "j", callback: "workStarted", workId, taskId, time });
    const task = { source: "task", id: taskId };
    below.push({
      ...task,
      callback: "taskSessionStarted",
      sessionId,
      taskId,
      isDriving: false,
      modelId: "m",
      time,
    });
    const session = { source: "session", id: sessionId };
    below.push({
      ...session,
      callback: "onGeneratedUserPrompt",
      requestId: "r",
      prompt: "x ".repeat(500),
      time: next(),
    });
    for (let call = 0; call < 10; call++) {
      const toolCallId = `t${call}`;
      below.push(
        {
          ...session,
          callback: "onStartToolExecution",
          toolCallId,
          toolName: "bash",
          toolArguments: '{"command":"ls"}',
          time: next(),
        },
        {
          ...session,
          callback: "onEndToolExecution",
          toolCallId,
          result: { content: "out ".repeat(200) },
          time: next(),
        },
      );
    }
    below.push(
      { ...session, callback: "onStartMessage", messageId: "m", time: next() },
      {
        ...session,
        callback: "onEndMessage",
        messageId: "m",
        completeContent: "**done** ".repeat(100),
        time: next(),
      },
      { ...task, callback: "taskDecision", reason: "[TASK SUCCEEDED] It is done", time: next() },
    );
    job.push({
      source: "job",
      id: "j",
      callback: "workStopped",
      workId,
      taskId,
      succeeded: true,
      time: next(),
    });
  }
  job.push({ source: "job", id: "j", callback: "jobSucceeded", time: noon + works * secondsPerWork * 1000 });
  return [...job, ...below];
}

export async function exportedPageRows(): Promise<Row[]> {
  return inScope(async scope => {
    const refs = Array.from(
      { length: works },
      (_, workIdInJob): Work<number> => ({ kind: "Ref", workIdInJob, taskId: `task-${workIdInJob}` }),
    );
    const work: Work<number> = { kind: "Seq", works: refs };
    const pieces: string[] = [];
    const page = exportedPage({
      page: "job",
      query: { jobName: "many", jobId: "j" },
      answers: {
        "copilot/job/j/status": { job: { work }, chart: laidOutChart(work), tasks: [] },
        "copilot/job/j/export?format=json": { job: { jobId: "j" }, responses: responses() },
      },
    });
    for await (const piece of page) pieces.push(piece);
    const html = pieces.join("");
    const file = join(await tempFolder(scope, "export"), "job.html");
    await writeFile(file, html);
    const browser = await launchBrowser();
    scope.after(() => browser.close());
    const open = async () => {
      const tab = await browser.newPage();
      const ms = await timed(async () => {
        await tab.goto(pathToFileURL(file).href, { waitUntil: "commit" });
        await tab.getByRole("button", { name: "Pause" }).waitFor();
      });
      await tab.close();
      return ms;
    };
    return [
      absoluteRow("size of an exported job with 200 works", Buffer.byteLength(html) / 1e6, "MB", {
        atMost: 5,
      }),
      absoluteRow("opening it from disk until it plays", await repeat(fewestRounds, open), "ms", {
        atMost: 1000,
      }),
    ];
  });
}
