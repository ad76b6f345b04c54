import { Ajv, type ErrorObject } from "ajv";
import type { JsonSchema } from "../../api/route.js";
import type { EntryInput, WorkInput } from "../../jobsDef.js";
import { entryError, quoted } from "./entryError.js";
import { flatSchemas } from "./entrySchema.js";
import { knownPart } from "./knownPart.js";
import { walkWork } from "./workTree.js";

// Ajv compiles a schema at its first use, so the start of the server does not pay for it.
// Tests prove that the schemas are valid; checking them at each start would take longer than everything else here.
const ajv = new Ajv({ strict: true, validateSchema: false });
const works = new Map(Object.entries(flatSchemas.works));

/** Called with the path of an unknown field, which is left out. */
export type OnUnknownField = (path: string) => void;

const namedMaps = ["models", "promptVariables", "tasks", "jobs"];

/** `.name`, `[0]` or `["any text"]`; always the last form for keys that the author chose. */
function step(key: string, index: number, keys: readonly string[]): string {
  const isChosenName = index === 1 && namedMaps.includes(keys[0] ?? "");
  if (!isChosenName && /^\d+$/.test(key)) return `[${key}]`;
  return !isChosenName && /^[a-zA-Z_$][\w$]*$/.test(key) ? `.${key}` : `[${quoted(key)}]`;
}

function keysOf(error: ErrorObject): string[] {
  const keys = error.instancePath.split("/").slice(1);
  const { missingProperty } = error.params as { [name: string]: string | undefined };
  const last = missingProperty ?? error.propertyName;
  const decoded = keys.map(key => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  return last === undefined ? decoded : [...decoded, last];
}

function reasonOf(error: ErrorObject): string {
  if (error.propertyName !== undefined) return "This name cannot be used here.";
  switch (error.keyword) {
    case "required":
      return "Is missing.";
    case "minProperties":
    case "maxProperties":
      return "Must have either category or id.";
    default:
      return `${error.message?.replace(/^must/, "Must") ?? "Is not valid"}.`;
  }
}

/** The most useful error: of ajv's alternatives, the deepest one, and the later of two equally deep ones. */
function mostTelling(errors: ErrorObject[]): ErrorObject | undefined {
  const depth = (error: ErrorObject) => keysOf(error).length + (error.keyword === "anyOf" ? -1 : 0);
  return errors.reduce<ErrorObject | undefined>(
    (best, error) => (best && depth(best) > depth(error) ? best : error),
    undefined,
  );
}

function pathOf(path: string, keys: readonly string[]): string {
  return path + keys.map(step).join("");
}

/** The known part of a value; throws when it does not match the schema. */
function checked(value: unknown, schema: JsonSchema, path: string, onUnknown: OnUnknownField): unknown {
  const known = knownPart(value, schema, keys => onUnknown(pathOf(path, keys)));
  const validate = ajv.compile(schema);
  if (validate(known)) return known;
  const error = mostTelling(validate.errors ?? []);
  if (!error) throw entryError(path, "Is not valid.");
  throw entryError(pathOf(path, keysOf(error)), reasonOf(error));
}

/** Entries in TypeScript leave holes in the grid; in JSON they are null. */
function withoutHoles(entry: unknown): unknown {
  const { grid } = (entry ?? {}) as { grid?: unknown };
  if (!Array.isArray(grid)) return entry;
  const filled = grid.map(row =>
    Array.isArray(row?.jobs) ? { ...row, jobs: Array.from(row.jobs, cell => cell ?? null) } : row,
  );
  return { ...(entry as object), grid: filled };
}

function checkWork(root: WorkInput, rootPath: string, onUnknown: OnUnknownField): void {
  for (const { work, path } of walkWork(root, rootPath)) {
    const kind: unknown = work.kind;
    const schema = typeof kind === "string" ? works.get(kind) : undefined;
    if (!schema) throw entryError(`${path}.kind`, `Must be one of ${[...works.keys()].join(", ")}.`);
    checked(work, schema, path, onUnknown);
  }
}

/** Checks the JSON Schema with ajv; works are checked one by one, because their nesting is unlimited. */
export function checkShape(entry: unknown, path: string, onUnknown: OnUnknownField): EntryInput {
  const known = checked(withoutHoles(entry), flatSchemas.entry, path, onUnknown) as EntryInput;
  for (const [name, job] of Object.entries(known.jobs)) {
    checkWork(job.work, `${path}.jobs[${quoted(name)}].work`, onUnknown);
  }
  return known;
}
