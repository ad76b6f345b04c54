import type { Entry } from "../../jobsDef.js";

/** The shared parts of the built-in prompts. */
export const promptVariables: Entry["promptVariables"] = {
  repository: [
    "You work in the current directory: a repository, or a part of one, in any language.",
    "Learn its rules before you act: read README, AGENTS.md, CLAUDE.md, CONTRIBUTING and .github/copilot-instructions.md as far as they exist, and the code next to what you touch. What you find there goes before your own habits.",
    "Nobody can answer questions while you work. Where something is open, choose what fits the repository best and say in your last message what you assumed.",
  ],
  "hands-off": [
    "Leave git as it is: no commit, push, stash, reset, checkout, rebase or branch, and never undo a change that you did not make.",
    "Touch only what the work needs. No drive-by refactoring, no reformatting, no new dependency where the repository already has a way.",
  ],
  "read-only": ["Change no file of the repository, and leave git as it is."],
  handover: [
    "Documents for other steps live in the folder `.copilot-portal` of the current directory. If it is missing, create it together with a file `.copilot-portal/.gitignore` that has the single line `*`, so that git never sees the folder. It is no part of the product: nothing in the repository may mention it.",
  ],
  "find-checks": [
    "The repository's own checks are its build, type check, linter and tests. Find the commands in its CI workflows, package scripts, Makefile, build files or contributing guide instead of guessing. Run them once, not in watch mode, and read their output to the end.",
    "A failure counts unless you have shown that it is there without the current changes too, for example by running the same command in a temporary `git worktree` of HEAD outside of this directory, which you remove afterwards.",
  ],
  "current-changes": [
    "The current changes are everything in `git status` and `git diff HEAD`, with untracked files (without `.copilot-portal`). If there are none, they are the commits of this branch that the default branch does not have; if there are none either, the last commit.",
  ],
  answer: [
    "Answer by calling exactly one of two tools, as the last thing you do: `job_boolean_true` if the answer is yes, `job_boolean_false` if it is no. Its argument is the reason in one or two sentences.",
  ],
  verdict: [
    "Give your verdict by calling exactly one of two tools, as the last thing you do. Call `job_boolean_true` if all of it is done and nothing is missing. Call `job_boolean_false` if anything is wrong or missing, or if you could not find out.",
    "Its argument is the reason in one to three sentences, with the files, tests or commands that show it: the author sees nothing else of your work.",
  ],
  "last-message": [
    "Your last message is for a busy colleague, at most fifteen lines: what you did, how you know that it works (commands and their results), what you assumed, what is left.",
  ],
  "review-rules": [
    "Read every changed file as a whole, not only the diff, and the code that calls it. Believe nothing without looking: where you suspect a defect, show it with a test, a command or the exact line that breaks, or drop it.",
    "If `.copilot-portal/plan.md` describes these changes, judge them by its acceptance criteria too.",
    "Report only what you would block a merge for or what is clearly worth the author's time; no praise, no style that a formatter decides. Nothing found is a good result: say so.",
    "Each finding: a number, a severity (blocker, major, minor), `file:line`, what goes wrong in which situation, and the smallest change that repairs it. The worst comes first. With no finding the document has the single line `No findings.`",
  ],
};
