import { readFileSync } from "node:fs";
import type { ErrorObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { StartError } from "./startError.js";

/** A user name or password in the address would show up wherever the address does. */
function isHttpUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "";
}

function jsonPath(pointer: string, property?: unknown): string {
  const steps = pointer.split("/").slice(1);
  if (typeof property === "string") steps.push(property);
  return `$${steps.map(step => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`)).join("")}`;
}

/** No value is ever shown, because any value may be a misplaced key. */
function explain({ keyword, instancePath, params, message }: ErrorObject): string {
  switch (keyword) {
    case "required":
      return `${jsonPath(instancePath, params.missingProperty)}: is missing`;
    case "additionalProperties":
      return `${jsonPath(instancePath, params.additionalProperty)}: is not known here`;
    case "enum":
      return `${jsonPath(instancePath)}: must be one of ${(params.allowedValues as string[]).join(", ")}`;
    case "format":
      return `${jsonPath(instancePath)}: must be an http or https address without user name and password`;
    default:
      return `${jsonPath(instancePath)}: ${message}`;
  }
}

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
ajv.addFormat("http-url", isHttpUrl);

/** Every way in which a value does not fit a schema, each with its JSON path and without the value. */
export function problemsBySchema(schema: object, value: unknown): string[] {
  const validate = ajv.compile(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(explain);
}

/** Throws a StartError that quotes nothing of the file. */
export function readSettingsFile(file: string): unknown {
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch (error) {
    throw new StartError(`${file}: cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    return JSON.parse(content);
  } catch (error) {
    // The message may quote the file, and with it a key: only the place is safe to show.
    const place = /at position \d+( \(line \d+ column \d+\))?/.exec(String(error))?.[0];
    throw new StartError(`${file}: is not valid JSON${place ? ` ${place}` : ""}`);
  }
}
