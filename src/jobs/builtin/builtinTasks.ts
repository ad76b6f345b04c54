import type { Command, Prompt, Task, TaskCriteria } from "../../jobsDef.js";
import { retryFailed, retryFailedCondition } from "../definition/readyMade.js";

/** The line that `find-checks` reported. Where it reported none, the model's judgement has to do. */
const ownChecks: Command[] = [
  { reportedBy: "find-checks", timeoutSeconds: 1800, name: "the repository's own checks" },
];

/** The task delivers a document, and a fresh session of the driving model approves it. */
function documentThat(condition: Prompt): TaskCriteria {
  return {
    toolExecuted: ["job_prepare_document"],
    condition: ["$read-only", ...condition, "$verdict"],
    runConditionInSameSession: false,
    failureAction: retryFailedCondition(2),
  };
}

/** A fresh session of the driving model checks the result, so that the author does not judge itself. */
function resultThat(condition: Prompt): TaskCriteria {
  return {
    condition: ["$read-only", ...condition, "$verdict"],
    runConditionInSameSession: false,
    failureAction: retryFailedCondition(3),
  };
}

/** A question to the repository: the task succeeds when the answer is yes. */
function question(...prompt: Prompt): Task {
  return {
    model: { category: "driving" },
    prompt,
    requireUserInput: false,
    criteria: { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 0 } },
  };
}

/** The same, but the answer is no, without a prompt, where the repository's own checks fail. */
function afterChecks(...prompt: Prompt): Task {
  return { ...question(...prompt), availability: { commands: ownChecks } };
}

function review(category: string, file: string, focus: Prompt): Task {
  return {
    model: { category },
    prompt: [
      "$repository",
      "$read-only",
      "",
      "# Review the current changes",
      "$current-changes",
      ...focus,
      "$review-rules",
      "",
      `Write the findings to \`.copilot-portal/${file}\`, replacing what is there. $handover`,
      `Then call \`job_prepare_document\` with the absolute path of \`.copilot-portal/${file}\`.`,
    ],
    requireUserInput: false,
    criteria: { toolExecuted: ["job_prepare_document"], failureAction: retryFailed(2) },
  };
}

const understanding: { [name: string]: Task } = {
  "explain-repository": {
    model: { category: "writing" },
    prompt: [
      "$repository",
      "$read-only",
      "",
      "# Explain this repository to an engineer who starts tomorrow",
      "Read before you write: entry points, build files, tests, and the longest-lived and most-changed files (`git log` knows). Follow one real request or command through the code from beginning to end.",
      "Write `.copilot-portal/explanation.md`, two pages at most, replacing what is there:",
      "1. What it is for and who uses it, in three sentences.",
      "2. How to build, run and test it: commands that you have tried, with what they printed where they failed.",
      "3. The map: each important folder or module, one line each, and how they depend on each other (a Mermaid diagram if it helps).",
      "4. The path of the request or command that you followed, with `file:line` at each step.",
      "5. Conventions that a change must follow, each with an example file.",
      "6. What surprises: traps, dead parts, places where tests are missing, with `file:line`.",
      "Every statement about the code carries the file that shows it. $handover",
      "Then call `job_prepare_document` with the absolute path of `.copilot-portal/explanation.md`, and give the explanation in full as your last message.",
    ],
    requireUserInput: false,
    criteria: { toolExecuted: ["job_prepare_document"], failureAction: retryFailed(2) },
  },
  "answer-question": {
    model: { category: "planning" },
    prompt: [
      "$repository",
      "$read-only",
      "",
      "# Answer a question about this repository",
      "$user-input",
      "",
      "Find the answer in the code, the history and, where it is cheap, by running something. Begin with the answer in one or two sentences, then show the evidence with `file:line`, then what remains uncertain. If the question rests on a mistake, say so first.",
    ],
    requireUserInput: true,
  },
};

const feature: { [name: string]: Task } = {
  "plan-feature": {
    model: { category: "planning" },
    prompt: [
      "$repository",
      "$read-only",
      "",
      "# Plan this change",
      "$user-input",
      "",
      "Do not implement it. Find where it belongs: read the code that it touches, its callers and its tests, and look for something similar that the repository already does.",
      "Write `.copilot-portal/plan.md`, replacing what is there, for an engineer who has not read the request:",
      "1. Goal: the request in your own words, what is not part of it, and what you assumed.",
      "2. Acceptance criteria: numbered, each one observable by a test or a command.",
      "3. Findings: the files and functions that matter, with `file:line` and what each does today.",
      "4. Design: what changes where and why, data shapes, errors, compatibility; the best alternative and why not.",
      "5. Steps: a checklist (`- [ ]`) of small changes in order; the repository builds after each.",
      "6. Tests: for every acceptance criterion the test that shows it and its file; edge cases and wrong input.",
      "7. Risks: what may break, and how we would notice.",
      "Delete `.copilot-portal/rounds.md` and `.copilot-portal/checks.md`: they belong to earlier work. $handover",
      "Then call `job_prepare_document` with the absolute path of `.copilot-portal/plan.md`.",
      "If the request contradicts itself or cannot be done here, write no plan: call `job_prerequisite_failed` with the reason, again if you are asked again.",
    ],
    requireUserInput: true,
    criteria: documentThat([
      "A plan was asked for this: $user-input",
      "",
      "Read $reported-document. Is it a plan for all of it that an engineer can follow without asking back: every acceptance criterion can be observed, the files and functions that it names exist, the steps cover all criteria, and each criterion has a test?",
    ]),
  },
  "implement-plan": {
    model: { category: "coding" },
    prompt: [
      "$repository",
      "$hands-off",
      "",
      "# Implement the plan in `.copilot-portal/plan.md`",
      "Read the plan as a whole first, then look at the current changes: an earlier run may have done a part of it.",
      "Go through its steps in order and tick each one off in the plan (`- [x]`) when it is done. Write the tests together with the code that they show. Where the plan is wrong, do what its acceptance criteria need and add a line under `## Deviations` in the plan.",
      "Write code that looks as if the authors of its neighbours had written it. Handle errors where they can be understood. Leave no placeholder, no commented-out code, no debug output. Update documentation that becomes wrong.",
      "$find-checks",
      "Run what covers your changes before you end.",
      "$last-message",
    ],
    requireUserInput: false,
    availability: {
      condition: [
        "Does the file `.copilot-portal/plan.md` exist in the current directory, and is it a plan?",
        "$answer",
      ],
    },
    criteria: resultThat([
      "Compare `.copilot-portal/plan.md` with the current changes. $current-changes",
      "Is every step of the plan really done in the code (a tick in the plan proves nothing), with the tests that it names, without placeholders, and does the repository build?",
    ]),
  },
};

const checks: { [name: string]: Task } = {
  "find-checks": question(
    "$repository",
    "$read-only",
    "",
    "# Which command line runs the checks of this repository?",
    "The checks are its build, type check, linter and tests. Find the commands in its CI workflows, package scripts, Makefile, build files or contributing guide instead of guessing. Join them with `&&` into one line for a shell that runs in the current directory, needs no input, is not in watch mode, and exits with 0 exactly when all checks pass.",
    "Run the line. Leave out a check that fails today, because nobody can be blamed for it later, and run the shorter line again.",
    "If a line is left that you have seen exit with 0, call `job_boolean_true` with this command line as its argument and nothing else: no quotes around it, no explanation. If the repository has no checks, or none of them passes, call `job_boolean_false` with the reason.",
  ),
  "repair-checks": {
    model: { category: "coding" },
    prompt: [
      "$repository",
      "$hands-off",
      "",
      "# Make all checks of this repository pass with the current changes",
      "$current-changes",
      "$find-checks",
      "`.copilot-portal/checks.md`, if it exists, says what failed last time; it may be out of date.",
      "1. Run all checks. Behaviour that the current changes add and no test shows: write that test first.",
      "2. For each failure find the cause before you change anything, and say it in one sentence. Repair the cause, in the code if the code is wrong and in the test only if the test is wrong.",
      "3. Never make a check pass by weakening it: no skipped or deleted test, no looser assertion, no ignored warning, no longer time-out without a reason that you can name.",
      "4. Run all checks again, from the beginning.",
      "$last-message",
    ],
    requireUserInput: false,
    criteria: { commands: ownChecks, failureAction: retryFailed(2) },
  },
  "checks-pass": afterChecks(
    "$repository",
    "$read-only",
    "",
    "# Do all checks of this repository pass?",
    "$find-checks",
    "Run them all yourself; what anybody says about them does not count. Look at the current changes as well: a test that was skipped, deleted or weakened to make it pass is a failure.",
    "Write the commands, their results and the important lines of each failure to `.copilot-portal/checks.md`, replacing what is there. $handover",
    "$verdict",
  ),
  "limit-rounds": question(
    "# May another round start?",
    "Count the lines of `.copilot-portal/rounds.md` in the current directory; a missing file has none. $handover",
    "Five lines or more: the answer is no, because five rounds did not lead to the goal and a person should look at it. Otherwise add the line `round N` (N is the number of the line) at its end, and the answer is yes. Do nothing else.",
    "$answer",
  ),
  "write-tests": {
    model: { category: "coding" },
    prompt: [
      "$repository",
      "$hands-off",
      "",
      "# Write tests for this",
      "$user-input",
      "",
      "Learn how this repository tests (framework, file names, helpers, what it fakes and what it does not) and do the same. Read the code under test and list to yourself what it promises: results, errors, edges (empty, one, many, huge, malformed, repeated, concurrent, interrupted).",
      "Write tests that fail when a promise is broken and stay green when only the inside changes: named after the promise, one reason to fail each, independent of order, time, network and machine, without sleeping. Test through the public surface.",
      "For every test see it fail once: break the code under test, run it, and undo that change exactly.",
      "If a test shows a real defect, do not bend the test: repair the defect if the repair is small and certain, else leave it and report it in your last message.",
      "$find-checks",
      "$last-message",
    ],
    requireUserInput: true,
    criteria: resultThat([
      "Tests were asked for this: $user-input",
      "",
      "Look at the tests in the current changes. $current-changes",
      "Do they cover what was asked for, would each one fail if the promise in its name were broken, do they follow the repository's own way of testing, and is the code under test unchanged except for repaired defects? Run them: do they pass, twice in a row?",
    ]),
  },
};

const bug: { [name: string]: Task } = {
  "reproduce-bug": {
    model: { category: "planning" },
    prompt: [
      "$repository",
      "$hands-off",
      "",
      "# Reproduce this bug and find its cause",
      "$user-input",
      "",
      "Do not fix it. Reproduce it first: with an automated test in the repository's own way of testing that fails because of this bug and only because of it, or, if that is impossible, with a script under `.copilot-portal`.",
      "Then go from the symptom to the cause: read the code, form one hypothesis at a time, and test each with an experiment (a log line, a debugger, `git log -S`, `git bisect` in a temporary worktree). Undo the experiments. The cause is found when you can say why the bug happens and why it does not happen elsewhere.",
      "Write `.copilot-portal/bug.md`, replacing what is there:",
      "1. Symptom: expected, observed, since when.",
      "2. Reproduction: the exact command, the failing test with `file:line`, and its output.",
      "3. Cause: with `file:line`, and the evidence for it.",
      "4. Reach: what else the same cause breaks.",
      "5. Repair: the smallest change that removes the cause, and the tests that must pass afterwards.",
      "Delete `.copilot-portal/rounds.md` and `.copilot-portal/checks.md`: they belong to earlier work. $handover",
      "Then call `job_prepare_document` with the absolute path of `.copilot-portal/bug.md`.",
      "If you cannot reproduce it, write no document: call `job_prerequisite_failed` with what you tried and what you would need to know, again if you are asked again.",
    ],
    requireUserInput: true,
    criteria: documentThat([
      "This bug was reported: $user-input",
      "",
      "Read $reported-document and run the reproduction that it gives. Does it fail in the way that the report describes, and does the evidence really show the named cause?",
    ]),
  },
  "fix-bug": {
    model: { category: "coding" },
    prompt: [
      "$repository",
      "$hands-off",
      "",
      "# Fix the bug in `.copilot-portal/bug.md`",
      "Run its reproduction first, and look at the current changes: an earlier round may have tried already, and `.copilot-portal/checks.md`, if it exists, says what was still wrong then.",
      "Remove the cause, not the symptom: no special case for the reported input, no swallowed error, no retry around it. Repair the other places that the document names under reach. If the cause turns out to be another one, correct the document.",
      "The failing test stays and becomes a regression test; add one for each neighbouring case that the cause could break.",
      "$find-checks",
      "Run the reproduction and all checks before you end.",
      "$last-message",
    ],
    requireUserInput: false,
    availability: {
      condition: [
        "Does the file `.copilot-portal/bug.md` exist in the current directory, and does it describe a bug with its reproduction?",
        "$answer",
      ],
    },
    criteria: { commands: ownChecks, failureAction: retryFailed(2) },
  },
  "bug-is-fixed": afterChecks(
    "$repository",
    "$read-only",
    "",
    "# Is the bug in `.copilot-portal/bug.md` fixed?",
    "Run its reproduction: it must pass now. Is the cause gone, rather than the symptom hidden? Is there a regression test that would fail without the fix?",
    "$find-checks",
    "Run all checks: nothing else may have broken, and no test may have been skipped, deleted or weakened.",
    "Write what is still wrong, or `Fixed.`, to `.copilot-portal/checks.md`, replacing what is there. $handover",
    "$verdict",
  ),
};

const reviewing: { [name: string]: Task } = {
  "review-correctness": review("reviewer-one", "review-correctness.md", [
    "Your subject is correctness. Does the code do what it says for every input and state: boundaries, empty and huge values, malformed input, errors half-way, concurrency and order, time-outs, resources that are never released, compatibility with stored data and callers? Do the tests fail when the behaviour breaks? Run the checks, and write a throw-away test outside of the repository where you doubt.",
  ]),
  "review-design": review("reviewer-two", "review-design.md", [
    "Your subject is design and safety. Is each thing in the place where a maintainer would look for it? Is something built that the repository or the platform already has, something duplicated, or something more general than its one use? Are names honest, interfaces small, documents still true? What can hostile input, a hostile file or a secret in the wrong place do? What will be slow or large with a thousand times the data?",
  ]),
  "merge-reviews": {
    model: { category: "reviewer-one" },
    prompt: [
      "$repository",
      "$read-only",
      "",
      "# Make one review of two",
      "Read `.copilot-portal/review-correctness.md` and `.copilot-portal/review-design.md`. Check each finding against the code yourself: drop what is wrong, join what is the same, and correct the severity.",
      "Write `.copilot-portal/review.md`, replacing what is there: a verdict in one line (ready, ready after small changes, not ready), then the findings in the same form, the worst first, then one line for each dropped finding with the reason. $handover",
      "Then call `job_prepare_document` with the absolute path of `.copilot-portal/review.md`, and give the review in full as your last message.",
    ],
    requireUserInput: false,
    criteria: { toolExecuted: ["job_prepare_document"], failureAction: retryFailed(2) },
  },
  "review-has-findings": question(
    "# Is there a review finding to work on?",
    "Read `.copilot-portal/review-correctness.md` and `.copilot-portal/review-design.md`, as far as they exist. Does at least one of them have a finding?",
    "$answer",
  ),
  "apply-review": {
    model: { category: "coding" },
    prompt: [
      "$repository",
      "$hands-off",
      "",
      "# Work through the review of the current changes",
      "The findings are in `.copilot-portal/review-correctness.md` and `.copilot-portal/review-design.md`, as far as they exist.",
      "Check each finding against the code before you act on it; reviewers are sometimes wrong. A true one: repair it at its cause, with a test where behaviour changes. A wrong one, or one that costs more than it is worth: leave the code alone.",
      "Write under each finding in its document one line that begins with `Answer:` and says what you changed, or why you did not. An earlier run may have answered some already.",
      "$find-checks",
      "Run all checks before you end.",
      "$last-message",
    ],
    requireUserInput: false,
    criteria: resultThat([
      "Read `.copilot-portal/review-correctness.md` and `.copilot-portal/review-design.md`, as far as they exist. Does every finding have a line that begins with `Answer:`, is every answer true when you look at the code, and is every refusal convincing?",
      "$find-checks",
      "Do all checks pass?",
    ]),
  },
};

const documentation: { [name: string]: Task } = {
  "improve-documentation": {
    model: { category: "writing" },
    prompt: [
      "$repository",
      "$hands-off",
      "",
      "# Improve the documentation of this repository",
      "First find what is wrong, because wrong is worse than missing: try every command, option, path, link and example of the README and the documents next to it against the code, and repair what does not hold.",
      "Then what is missing for the first ten minutes of a newcomer: what it is, why one would want it, how to install, run and test it, the one most useful example, where to go on. Then public functions, options and settings whose meaning cannot be guessed from the name.",
      "Write plainly and briefly, in the language, tone and form that the documents already have. Show instead of praising. Delete what says nothing. Change no behaviour; comments in the code only where they are wrong.",
      "$last-message",
    ],
    requireUserInput: false,
    criteria: resultThat([
      "Look at the documents in the current changes. $current-changes",
      "Follow each changed instruction and example as a newcomer would. Do they all work, are all links and paths right, is nothing useful lost, and is the behaviour of the code unchanged?",
    ]),
  },
};

export const tasks: { [name: string]: Task } = {
  ...understanding,
  ...feature,
  ...checks,
  ...bug,
  ...reviewing,
  ...documentation,
};
