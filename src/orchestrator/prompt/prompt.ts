import { OrchestratorError } from "../orchestratorError.js";
import { codePoints } from "./promptText.js";

const maxNameChars = 200;
const maxChain = 10;

// Tab and line breaks stay.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const controls = /[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** Half of a surrogate pair has no UTF-8 form and becomes the replacement character. */
const wellFormed = (text: string) => Buffer.from(text, "utf8").toString("utf8");

function checkText(value: unknown, argument: string): string {
  if (typeof value !== "string" || value.trim() === "")
    throw OrchestratorError.invalid(`${argument} must be a text that is not blank.`, `Argument: ${argument}`);
  if (value.includes("\0"))
    throw OrchestratorError.invalid(`${argument} contains a NUL character.`, `Argument: ${argument}`);
  return value;
}

/** The prompt that agents receive: trimmed, without control characters. */
export function checkPrompt(value: unknown, maxChars: number): string {
  const prompt = wellFormed(checkText(value, "prompt")).replace(controls, "").trim();
  const length = codePoints(prompt);
  if (length === 0)
    throw OrchestratorError.invalid("prompt must be a text that is not blank.", "Argument: prompt");
  if (length > maxChars)
    throw OrchestratorError.invalid(
      `prompt has ${length} characters; at most ${maxChars} are accepted.`,
      "Argument: prompt",
    );
  return prompt;
}

export function checkAgentName(value: unknown, argument = "agentName"): string {
  const name = checkText(value, argument);
  if (name.length > maxNameChars)
    throw OrchestratorError.invalid(
      `${argument} is longer than ${maxNameChars} characters.`,
      `Argument: ${argument}`,
    );
  return name.trim();
}

/** Undefined when the prompt selects the agents. */
export function checkChain(value: unknown): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || value.length > maxChain)
    throw OrchestratorError.invalid(
      `agentChain must be a list of at most ${maxChain} names.`,
      "Argument: agentChain",
    );
  return value.length === 0 ? undefined : value.map((name, i) => checkAgentName(name, `agentChain[${i}]`));
}
