import { readFileSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { isRecord } from "../base/json.js";
import { PortalError } from "../base/portalError.js";
import { StartError } from "../base/startError.js";
import { parseRule, ruleText } from "./rules.js";

/** Rules by folder, as a policy file has them; `*` is every folder. */
export interface Policy {
  folders: Record<string, string[]>;
}

export const everyFolder = "*";

function ruleProblem(rule: unknown): string | undefined {
  if (typeof rule !== "string") return "a rule is a text";
  try {
    parseRule(rule);
    return undefined;
  } catch (error) {
    if (error instanceof PortalError) return error.message;
    throw error;
  }
}

/** Every problem in a policy, each with its JSON path. */
export function policyProblems(value: unknown): string[] {
  if (!isRecord(value) || !isRecord(value.folders))
    return ["$.folders: must be an object, with a list of rules for each folder"];
  const unknown = Object.keys(value).filter(name => name !== "folders" && name !== "$schema");
  return [
    ...unknown.map(name => `$.${name}: is not known here`),
    ...Object.entries(value.folders).flatMap(([folder, rules]) => {
      const path = `$.folders[${JSON.stringify(folder)}]`;
      if (folder !== everyFolder && !isAbsolute(folder))
        return [`${path}: a folder is an absolute path, or ${everyFolder} for every folder`];
      if (!Array.isArray(rules)) return [`${path}: must be a list of rules`];
      return rules.flatMap((rule, index) => {
        const problem = ruleProblem(rule);
        return problem === undefined ? [] : [`${path}[${index}]: ${problem}`];
      });
    }),
  ];
}

/** Reads the policy file that portal.config.json names; throws a StartError with one line for each problem. */
export function readPolicy(file: string | undefined): Policy {
  if (file === undefined) return { folders: {} };
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new StartError(`${file}: ${code ? `cannot be read (${code})` : "is not valid JSON"}`);
  }
  const problems = policyProblems(value);
  if (problems.length > 0) throw new StartError(problems.map(problem => `${file}: ${problem}`).join("\n"));
  const { folders } = value as Policy;
  return {
    folders: Object.fromEntries(
      Object.entries(folders).map(([folder, rules]) => [
        folder === everyFolder ? folder : resolve(folder),
        rules.map(rule => ruleText(parseRule(rule))),
      ]),
    ),
  };
}
