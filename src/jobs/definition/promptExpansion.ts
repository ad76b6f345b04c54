import { PortalError } from "../../base/portalError.js";
import type { Entry, Prompt } from "../../jobsDef.js";
import { entryError, shortened } from "./entryError.js";
import { runtimeVariables } from "./readyMade.js";

/** `$` followed by words of letters joined by hyphens. */
const variablePattern = /\$[a-zA-Z]+(?:-[a-zA-Z]+)*/g;

/** Variables that double each other would fill the memory; no model reads prompts of this size. */
const maxExpandedChars = 50_000_000;

/** Deeper than anyone writes; a cycle is found first, unless it is longer. */
const maxVariableDepth = 500;

const runtime = new Set(runtimeVariables);

/** The variables that a text uses, with their `$`. */
export function variablesIn(text: string): Set<string> {
  return new Set(text.match(variablePattern));
}

export type ExpandPrompt = (codePath: string, prompt: Prompt, requiresBooleanTool?: boolean) => Prompt;

/** Expands any number of prompts of one entry; each variable is expanded once. */
export function promptExpander(variables: Entry["promptVariables"]): ExpandPrompt {
  const values = new Map<string, string>();
  let charsLeft = maxExpandedChars;

  return function expandPrompt(codePath, prompt, requiresBooleanTool = false) {
    const open = new Set<string>();
    const where = () => [codePath, ...open].join("/");

    function textOf(lines: Prompt): string {
      if (lines.length === 0) throw entryError(where(), "Prompt is empty.");
      const source = lines.join("\n");
      let text = "";
      let end = 0;
      for (const { 0: variable, index } of source.matchAll(variablePattern)) {
        const known = runtime.has(variable) ? variable : values.get(variable);
        text += source.slice(end, index) + (known ?? expansionOf(variable));
        end = index + variable.length;
        if (text.length > charsLeft) break;
      }
      text += source.slice(end);
      charsLeft -= text.length;
      if (charsLeft < 0) {
        throw entryError(where(), `The expanded prompts are longer than ${maxExpandedChars} characters.`);
      }
      return text;
    }

    function expansionOf(variable: string): string {
      if (open.has(variable)) {
        const chain = [...open, variable];
        const cycle = chain.slice(chain.indexOf(variable)).join(" → ");
        throw entryError(where(), `Prompt variable contains itself: ${shortened(cycle)}.`);
      }
      if (open.size >= maxVariableDepth)
        throw entryError(where(), `Prompt variables are nested more than ${maxVariableDepth} levels deep.`);
      const name = variable.slice(1);
      const lines = Object.hasOwn(variables, name) ? variables[name] : undefined;
      if (!lines) throw entryError(where(), `Cannot find prompt variable: ${shortened(variable)}.`);
      open.add(variable);
      const value = textOf(lines);
      open.delete(variable);
      values.set(variable, value);
      return value;
    }

    const text = textOf(prompt);
    if (text.trim() === "") throw entryError(codePath, "Prompt is empty.");
    if (requiresBooleanTool && !/job_boolean_(?:true|false)/.test(text)) {
      throw entryError(codePath, "Prompt must mention job_boolean_true or job_boolean_false.");
    }
    return [text];
  };
}

/** Joins the lines and replaces the variables of the entry; runtime variables stay. The result has one item. */
export function expandPromptStatic(
  entry: Pick<Entry, "promptVariables">,
  codePath: string,
  prompt: Prompt,
  requiresBooleanTool = false,
): Prompt {
  return promptExpander(entry.promptVariables)(codePath, prompt, requiresBooleanTool);
}

/** Fills every variable of an expanded prompt from `values` (keys without `$`); values are not expanded again. */
export function expandPromptDynamic(
  _entry: unknown,
  prompt: Prompt,
  values: { [name: string]: string },
): Prompt {
  const [text] = prompt;
  if (prompt.length !== 1 || text === undefined) {
    throw PortalError.malformed(
      "PromptNotExpanded",
      `A prompt has exactly one item after expandPromptStatic, this one has ${prompt.length}.`,
    );
  }
  const fill = (variable: string): string => {
    const name = variable.slice(1);
    return (Object.hasOwn(values, name) ? values[name] : undefined) ?? "<MISSING>";
  };
  return [text.replace(variablePattern, fill)];
}
