import { promptVariables } from "./jobs/builtin/builtinPrompts.js";
import { tasks } from "./jobs/builtin/builtinTasks.js";
import type { ModelAlternatives } from "./jobs/definition/modelFallback.js";
import { completeEntry } from "./jobs/definition/validateEntry.js";
import type { Entry, EntryInput, WorkInput } from "./jobsDef.js";

/**
 * The built-in entry: jobs for any repository in any language.
 * Its tasks pass documents through `.copilot-portal/` in the working directory, a folder that git ignores.
 */

function run(taskId: string): WorkInput {
  return { kind: "Ref", taskId };
}

function inOrder(...works: WorkInput[]): WorkInput {
  return { kind: "Seq", works };
}

function atOnce(...works: WorkInput[]): WorkInput {
  return { kind: "Par", works };
}

/** Repeats the round while `goal` answers no; `limit-rounds` ends a loop without progress. */
function until(goal: string, ...round: string[]): WorkInput {
  return {
    kind: "Loop",
    body: inOrder(run("limit-rounds"), ...round.map(run)),
    postCondition: [false, run(goal)],
  };
}

/** Runs `find-checks` first, while the checks still pass; without checks the job goes on all the same. */
function withOwnChecks(...works: WorkInput[]): WorkInput {
  return inOrder({ kind: "Alt", condition: run("find-checks") }, ...works);
}

const reviews = atOnce(run("review-correctness"), run("review-design"));

const jobs: { [name: string]: WorkInput } = {
  "explain-repository": run("explain-repository"),
  "answer-question": run("answer-question"),

  "plan-feature": run("plan-feature"),
  "implement-feature": withOwnChecks(
    run("plan-feature"),
    run("implement-plan"),
    until("checks-pass", "repair-checks"),
    reviews,
    { kind: "Alt", condition: run("review-has-findings"), trueWork: run("apply-review") },
  ),
  "implement-plan": run("implement-plan"),

  "fix-bug": withOwnChecks(run("reproduce-bug"), until("bug-is-fixed", "fix-bug")),
  "reproduce-bug": run("reproduce-bug"),
  "fix-reproduced-bug": run("fix-bug"),
  "verify-fix": run("bug-is-fixed"),

  "write-tests": withOwnChecks(run("write-tests"), {
    kind: "Alt",
    condition: run("checks-pass"),
    falseWork: run("repair-checks"),
  }),
  "repair-checks": run("repair-checks"),
  "run-checks": run("checks-pass"),

  "review-changes": inOrder(reviews, run("merge-reviews")),
  "review-correctness": run("review-correctness"),
  "review-design": run("review-design"),
  "apply-review": run("apply-review"),

  "improve-documentation": run("improve-documentation"),
};

const builtin: EntryInput = {
  models: {
    driving: "gpt-5.4-mini",
    planning: "claude-opus-4.6",
    coding: "claude-sonnet-4.6",
    "reviewer-one": "gpt-5.4",
    "reviewer-two": "gemini-3.1-pro-preview",
    writing: "gpt-5.4",
  },
  drivingSessionRetries: [
    { modelId: "gpt-5.4-mini", retries: 2 },
    { modelId: "claude-haiku-4.5", retries: 2 },
  ],
  promptVariables,
  tasks,
  jobs: Object.fromEntries(Object.entries(jobs).map(([name, work]) => [name, { work }])),
  // The first column has the jobs of several steps, the other columns have the single steps.
  grid: [
    {
      keyword: "Understand",
      jobs: [
        null,
        { name: "Explain the repository", jobName: "explain-repository" },
        { name: "Answer a question", jobName: "answer-question" },
      ],
    },
    { keyword: "Plan", jobs: [null, { name: "Plan a feature", jobName: "plan-feature" }] },
    {
      keyword: "Build",
      jobs: [
        { name: "Implement a feature", jobName: "implement-feature" },
        { name: "Implement the plan", jobName: "implement-plan" },
      ],
    },
    {
      keyword: "Fix",
      jobs: [
        { name: "Fix a bug", jobName: "fix-bug" },
        { name: "Reproduce a bug", jobName: "reproduce-bug" },
        { name: "Fix the reproduced bug", jobName: "fix-reproduced-bug" },
        { name: "Verify the fix", jobName: "verify-fix" },
      ],
    },
    {
      keyword: "Test",
      jobs: [
        { name: "Write tests", jobName: "write-tests" },
        { name: "Make the checks pass", jobName: "repair-checks" },
        { name: "Run the checks", jobName: "run-checks" },
      ],
    },
    {
      keyword: "Review",
      jobs: [
        { name: "Review the changes", jobName: "review-changes" },
        { name: "Review correctness", jobName: "review-correctness" },
        { name: "Review design", jobName: "review-design" },
        { name: "Apply the reviews", jobName: "apply-review" },
      ],
    },
    {
      keyword: "Document",
      jobs: [null, { name: "Improve the documentation", jobName: "improve-documentation" }],
    },
  ],
};

/** Replacements for a model that the user does not have: first the same family, then the same strength. */
export const modelAlternatives: ModelAlternatives = {
  "gpt-5.4-mini": ["gpt-5-mini", "claude-haiku-4.5", "gpt-5.2", "gpt-4.1"],
  "claude-haiku-4.5": ["gpt-5-mini", "gpt-4.1", "gpt-5.2"],
  "claude-opus-4.6": ["claude-opus-4.5", "claude-opus-4.8", "gpt-5.4", "claude-sonnet-4.6", "gpt-5.2"],
  "claude-sonnet-4.6": ["claude-sonnet-4.5", "gpt-5.3-codex", "gpt-5.2-codex", "gpt-5.4", "gpt-5.2"],
  "gpt-5.4": ["gpt-5.2", "gpt-5.5", "gpt-5.3-codex", "claude-sonnet-4.6"],
  "gemini-3.1-pro-preview": ["gemini-3.1-pro", "gemini-2.5-pro", "claude-opus-4.5", "claude-sonnet-4.6"],
};

/** The compiler has checked its shape, and a test does so again; at each start it would cost a twentieth of a second. */
export const entry: Entry = completeEntry(builtin, "jobsData.ts: entry");
