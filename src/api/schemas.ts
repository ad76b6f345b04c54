import type { JsonSchema } from "./route.js";

/** Short names for schemas, so that a route reads like its documentation. Their types say what a body holds. */
export const text = { type: "string" } as const satisfies JsonSchema;
export const number = { type: "number" } as const satisfies JsonSchema;
export const flag = { type: "boolean" } as const satisfies JsonSchema;
/** An object of any shape. */
export const anything = { type: "object" } as const satisfies JsonSchema;

export function oneOfTexts<const Values extends readonly string[]>(...values: Values) {
  return { type: "string", enum: values } as const;
}

export function list<const Items extends JsonSchema>(items: Items) {
  return { type: "array", items } as const;
}

type Properties<Named> = {
  readonly [Name in keyof Named as Name extends `${infer Bare}?` ? Bare : Name]: Named[Name];
};
type Required<Named> = readonly Exclude<keyof Named & string, `${string}?`>[];

/** An object with these properties; a name that ends in `?` is optional. */
export function object<const Named extends Readonly<Record<string, JsonSchema>>>(properties: Named) {
  const entries = Object.entries(properties);
  return {
    type: "object",
    properties: Object.fromEntries(
      entries.map(([name, schema]) => [name.replace(/\?$/, ""), schema]),
    ) as Properties<Named>,
    required: entries.map(([name]) => name).filter(name => !name.endsWith("?")) as unknown as Required<Named>,
  } as const;
}

/** The changes of a row of a list; `files` where each is sure to be counted once. */
export const changeSum = object({ "files?": number, added: number, deleted: number });

export function either(...schemas: JsonSchema[]): JsonSchema {
  return { anyOf: schemas };
}

/** `{error: "SessionNotFound"}` and the like, with HTTP status 200. */
export function domainError(...codes: string[]): JsonSchema {
  return object({ error: oneOfTexts(...codes) });
}

/** Every answer that is not 200. */
export const errorAnswer: JsonSchema = object({ error: text, message: text, "id?": text });
