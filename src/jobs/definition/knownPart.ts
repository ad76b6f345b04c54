import type { JsonSchema } from "../../api/route.js";

type Fields = { readonly [name: string]: unknown };

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Called with the keys that lead to an unknown field. */
export type OnUnknown = (keys: readonly string[]) => void;

/**
 * The part of a value that a schema of entries knows. Fields of other programs and other versions are left out, so
 * that they fail no check. A value of another shape stays unchanged, and the check refuses it.
 */
export function knownPart(
  value: unknown,
  schema: JsonSchema,
  onUnknown: OnUnknown,
  keys: readonly string[] = [],
): unknown {
  const { properties, additionalProperties, items, anyOf } = schema;
  if (Array.isArray(value) && isFields(items))
    return value.map((item, index) => knownPart(item, items, onUnknown, [...keys, String(index)]));
  if (!isFields(value) || !(properties || additionalProperties || anyOf)) return value;
  if (Array.isArray(anyOf)) {
    const shape = anyOf.find(({ type }) => type === "object");
    return shape ? knownPart(value, shape, onUnknown, keys) : value;
  }
  const known: Fields = isFields(properties) ? properties : {};
  const parts: [string, unknown][] = [];
  for (const [name, part] of Object.entries(value)) {
    const inner = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    if (inner === false) onUnknown([...keys, name]);
    else parts.push([name, isFields(inner) ? knownPart(part, inner, onUnknown, [...keys, name]) : part]);
  }
  return Object.fromEntries(parts);
}
