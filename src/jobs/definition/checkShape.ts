import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { JsonSchema } from "../../api/route.js";
import type { EntryInput, WorkInput } from "../../jobsDef.js";
import { entryError, quoted } from "./entryError.js";
import { flatSchemas } from "./entrySchema.js";
import { walkWork } from "./workTree.js";

interface Checks {
  entry: ValidateFunction;
  works: Map<string, ValidateFunction>;
}

let checks: Checks | undefined;

/** Compiled on first need: the server starts without it. */
function compiled(): Checks {
  if (checks) return checks;
  // Tests prove that the schemas are schemas; asking at each start takes longer than all else here.
  const ajv = new Ajv({ strict: true, validateSchema: false });
  const compile = (schema: JsonSchema) => ajv.compile(schema);
  const works = new Map(Object.entries(flatSchemas.works).map(([kind, schema]) => [kind, compile(schema)]));
  checks = { entry: compile(flatSchemas.entry), works };
  return checks;
}

const namedMaps = ["models", "promptVariables", "tasks", "jobs"];

/** `.name`, `[0]`, or `["any text"]`, always the last one below the maps whose keys the author chose. */
function step(key: string, index: number, keys: string[]): string {
  const isChosenName = index === 1 && namedMaps.includes(keys[0] ?? "");
  if (!isChosenName && /^\d+$/.test(key)) return `[${key}]`;
  return !isChosenName && /^[a-zA-Z_$][\w$]*$/.test(key) ? `.${key}` : `[${quoted(key)}]`;
}

function keysOf(error: ErrorObject): string[] {
  const keys = error.instancePath.split("/").slice(1);
  const { missingProperty, additionalProperty } = error.params as { [name: string]: string | undefined };
  const last = missingProperty ?? additionalProperty ?? error.propertyName;
  const decoded = keys.map(key => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  return last === undefined ? decoded : [...decoded, last];
}

function reasonOf(error: ErrorObject): string {
  if (error.propertyName !== undefined) return "This name cannot be used here.";
  switch (error.keyword) {
    case "required":
      return "Is missing.";
    case "additionalProperties":
      return "Unknown property.";
    case "minProperties":
    case "maxProperties":
      return "Must have either category or id.";
    default:
      return `${error.message?.replace(/^must/, "Must") ?? "Is not valid"}.`;
  }
}

/** The error that says most: of the alternatives that ajv tried, the one that came furthest, the later one at a draw. */
function mostTelling(errors: ErrorObject[]): ErrorObject | undefined {
  const depth = (error: ErrorObject) => keysOf(error).length + (error.keyword === "anyOf" ? -1 : 0);
  return errors.reduce<ErrorObject | undefined>(
    (best, error) => (best && depth(best) > depth(error) ? best : error),
    undefined,
  );
}

function check(validate: ValidateFunction, value: unknown, path: string): void {
  if (validate(value)) return;
  const error = mostTelling(validate.errors ?? []);
  if (!error) throw entryError(path, "Is not valid.");
  throw entryError(path + keysOf(error).map(step).join(""), reasonOf(error));
}

/** Entries written in TypeScript leave holes in the grid; JSON has null for them. */
function withoutHoles(entry: unknown): unknown {
  const { grid } = (entry ?? {}) as { grid?: unknown };
  if (!Array.isArray(grid)) return entry;
  const filled = grid.map(row =>
    Array.isArray(row?.jobs) ? { ...row, jobs: Array.from(row.jobs, cell => cell ?? null) } : row,
  );
  return { ...(entry as object), grid: filled };
}

function checkWork(root: WorkInput, rootPath: string): void {
  const { works } = compiled();
  for (const { work, path } of walkWork(root, rootPath)) {
    const kind: unknown = work.kind;
    const validate = typeof kind === "string" ? works.get(kind) : undefined;
    if (!validate) throw entryError(`${path}.kind`, `Must be one of ${[...works.keys()].join(", ")}.`);
    check(validate, work, path);
  }
}

/** What the JSON Schema says, checked with ajv; works are checked one by one, because their nesting has no bound. */
export function checkShape(entry: unknown, path: string): EntryInput {
  const filled = withoutHoles(entry);
  check(compiled().entry, filled, path);
  const checked = filled as EntryInput;
  for (const [name, job] of Object.entries(checked.jobs)) {
    checkWork(job.work, `${path}.jobs[${quoted(name)}].work`);
  }
  return checked;
}
