import type { JsonSchema } from "./route.js";

/** Small words for the schemas of answers, so that a route reads like its documentation. */
export const text: JsonSchema = { type: "string" };
export const number: JsonSchema = { type: "number" };
export const flag: JsonSchema = { type: "boolean" };
/** An object of whatever shape. */
export const anything: JsonSchema = { type: "object" };

export function oneOfTexts(...values: string[]): JsonSchema {
  return { type: "string", enum: values };
}

export function list(items: JsonSchema): JsonSchema {
  return { type: "array", items };
}

/** An object with these properties; a name that ends in `?` is optional. */
export function object(properties: Record<string, JsonSchema>): JsonSchema & { type: "object" } {
  const entries = Object.entries(properties);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, schema]) => [name.replace(/\?$/, ""), schema])),
    required: entries.map(([name]) => name).filter(name => !name.endsWith("?")),
  };
}

export function either(...schemas: JsonSchema[]): JsonSchema {
  return { anyOf: schemas };
}

/** `{error: "SessionNotFound"}` and the like, with HTTP status 200 as in the source document. */
export function domainError(...codes: string[]): JsonSchema {
  return object({ error: oneOfTexts(...codes) });
}

/** Every answer that is not 200. */
export const errorAnswer: JsonSchema = object({ error: text, message: text, "id?": text });
