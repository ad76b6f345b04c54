import type { Issue } from "../../../src/orchestrator/prompt/evaluator.js";

interface ReferencePrompt {
  prompt: string;
  confidence: number;
  isClear: boolean;
  issues: Issue[];
}

const clear = (prompt: string, confidence: number, ...issues: Issue[]): ReferencePrompt => ({
  prompt,
  confidence,
  isClear: true,
  issues,
});
const unclear = (prompt: string, confidence: number, ...issues: Issue[]): ReferencePrompt => ({
  prompt,
  confidence,
  isClear: false,
  issues,
});

/** The evaluator's reference results. */
export const referencePrompts: readonly ReferencePrompt[] = [
  clear("Review the authentication module for security issues", 0.85),
  clear("Review internal/orchestrator/orchestrator.go for performance", 0.95),
  clear(
    "Create unit tests for the MatchKeywords() function in internal/agents/types.go covering empty input and scoring edge cases",
    1,
  ),
  clear("Review the auth module", 0.8),
  clear("Should we add caching? What are the implications?", 0.8),
  clear("Upgrade Node.js to version 22", 0.8),
  clear("Check that the login tests pass", 0.8),
  clear("What is Go?", 0.7),
  clear("Improve the README", 0.9),
  clear("Performance problems in src/db/pool.ts", 0.75, "no-action"),
  clear("Fix something in auth.go", 0.7, "vagueness"),
  unclear("Review the module", 0.4, "vagueness", "missing-context"),
  unclear("Fix the thing in the module", 0.4, "vagueness", "missing-context"),
  unclear("Review this", 0.4, "vagueness", "missing-context"),
  unclear("Compare it with the old login flow", 0.6, "vagueness"),
  unclear("Write tests", 0.6, "missing-context"),
  unclear("Review and/or fix input/output", 0.6, "missing-context"),
  unclear("Review code and generate tests for the module", 0.45, "vagueness", "missing-context"),
  unclear("The code is broken", 0.2, "vagueness", "missing-context", "no-action"),
  unclear("Fix bug", 0.2, "too-short", "vagueness", "missing-context"),
  unclear("auth.go", 0.3, "too-short", "no-action"),
  unclear("hello", 0, "too-short", "missing-context", "no-action"),
];

/** The five agents of the selection's reference results, in order of discovery. */
export const referenceAgents: Readonly<Record<string, string[]>> = {
  "architecture-advisor": ["architecture", "design", "modularity", "scalability"],
  "code-reviewer": ["code-review", "go", "quality", "testing", "correctness", "performance"],
  "devops-engineer": ["deployment", "ci-cd", "docker", "monitoring", "security"],
  "documentation-writer": ["documentation", "readme", "api-docs", "guides"],
  "test-generator": ["testing", "unit-tests", "coverage", "mocking"],
};

export const referenceSelections: readonly (readonly [prompt: string, agents: string[]])[] = [
  ["Review the authentication module for security issues", ["code-reviewer", "devops-engineer"]],
  ["Review the module", ["code-reviewer"]],
  ["Write tests", ["test-generator"]],
  ["Generate unit tests for the agent registry", ["test-generator"]],
  ["Write API documentation for the orchestrator", ["documentation-writer"]],
  ["Design a caching layer for session lookups", ["architecture-advisor"]],
  ["Review code and generate tests for the module", ["code-reviewer", "test-generator"]],
  [
    "Review src/cart.ts for code quality, test coverage and documentation gaps",
    ["code-reviewer", "test-generator", "documentation-writer"],
  ],
  ["Set up a CI/CD pipeline with docker for the web app", ["devops-engineer"]],
  ["Use the test-generator agent on src/cart.ts", ["test-generator"]],
  ["Explain main.go", ["code-reviewer"]],
  ["Translate my poem to French", []],
  ["Fix the latest contest prefix", []],
];
