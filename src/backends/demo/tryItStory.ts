/** What the script, the repository and the tasks of *Try it* have in common. */

/** Only the tasks of *Try it* name it: no list of models has it. */
export const tryItModelId = "demo:try-it";
/** How the runtime calls it. */
export const tryItModel = "try-it";

/** The tasks by the first lines of their prompts, which is how the script recognises them. */
export const headings = {
  plan: "# Plan the fix",
  mend: "# Mend the bug",
  commit: "# Commit the fix",
  review: "# Review the fix",
} as const;

export const files = { code: "duration.js", test: "duration.test.js", plan: "plan.md" } as const;

/** The line with the bug, what the first attempt makes of it, and what is right. */
export const lines = {
  bug: "  const rest = String(seconds % 60);",
  wrong: "  const rest = String(seconds % 60).padStart(2);",
  right: '  const rest = String(seconds % 60).padStart(2, "0");',
} as const;

/** The command that the user is asked about. */
export const commitCommand = 'git commit --all --message "Write seconds with two digits"';
