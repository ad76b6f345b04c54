import { files, headings, tryItModelId } from "../backends/demo/tryItStory.js";
import { completeEntry } from "../jobs/definition/validateEntry.js";
import type { Command, Entry, EntryInput, Prompt, Task } from "../jobsDef.js";

/** The page of a job with this name ends with an invitation. */
export const tryItJobName = "Try it";

const tests: Command = { run: ["node", "--test", "--test-reporter=spec"], timeoutSeconds: 60 };
const everythingCommitted: Command = {
  run: ["git", "diff", "--exit-code", "--stat", "HEAD"],
  timeoutSeconds: 60,
};

function task(
  prompt: Prompt,
  criteria: Omit<NonNullable<Task["criteria"]>, "failureAction">,
  retryTimes = 1,
): Task {
  return {
    model: { category: "driving" },
    prompt,
    requireUserInput: false,
    criteria: { ...criteria, failureAction: { retryTimes } },
  };
}

const tryIt: EntryInput = {
  models: { driving: tryItModelId },
  promptVariables: {},
  tasks: {
    "plan-the-fix": task(
      [
        headings.plan,
        `A test in \`${files.test}\` fails. Find the cause and write a plan of at most five lines to \`${files.plan}\`.`,
        "Then call job_prepare_document with its full path.",
      ],
      { toolExecuted: ["job_prepare_document"] },
    ),
    "mend-the-bug": task(
      [
        headings.mend,
        `Follow \`${files.plan}\`. Change \`${files.code}\` and nothing else. Your work is done when \`node --test\` passes.`,
      ],
      { commands: [tests] },
      2,
    ),
    "commit-the-fix": task(
      [headings.commit, "The tests pass. Commit all changes with a message that says what is better now."],
      { commands: [everythingCommitted] },
      0,
    ),
    "review-the-fix": task(
      [
        headings.review,
        `Another agent has changed \`${files.code}\`. Read it and \`${files.test}\`, and change nothing.`,
        "Call job_boolean_true if the change is right, otherwise job_boolean_false, with the reason.",
      ],
      { toolExecuted: ["job_boolean_true"] },
    ),
  },
  jobs: {
    [tryItJobName]: {
      work: {
        kind: "Seq",
        works: [
          { kind: "Ref", taskId: "plan-the-fix" },
          { kind: "Ref", taskId: "mend-the-bug" },
          {
            kind: "Par",
            works: [
              { kind: "Ref", taskId: "commit-the-fix" },
              { kind: "Ref", taskId: "review-the-fix" },
            ],
          },
        ],
      },
    },
  },
  grid: [],
};

/** The entry of *Try it*. It is never installed: the user's own entry and grid stay as they are. */
export const tryItEntry: Entry = completeEntry(tryIt, "tryItEntry.ts: entry");
