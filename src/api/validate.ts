import type { ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { PortalError } from "../base/portalError.js";
import type { JsonSchema, Route } from "./route.js";

type Values = Record<string, unknown>;

// Arguments arrive as text, so "5" counts as a number where the schema wants one. A test checks the schemas themselves.
const ajv = new Ajv2020({ allErrors: true, coerceTypes: true, validateSchema: false });

function invalid(place: string, name: string, message: string | undefined, values: Values): PortalError {
  const value = name in values ? ` (is ${JSON.stringify(values[name])?.slice(0, 100)})` : "";
  return PortalError.malformed("ArgumentInvalid", `${place} ${name}: ${message}${value}`);
}

function explain(place: string, error: ErrorObject, values: Values): PortalError {
  return invalid(place, error.instancePath.slice(1), error.message, values);
}

/** Ajv would accept " 5", "0x10" and "1e309" as numbers, and the last one, which is infinite, as within all bounds. */
const wholeNumber = /^-?\d{1,15}$/;

/** Checks values against schemas by name and coerces them in place; unknown names are dropped. */
function createCheck(
  place: string,
  schemas: Readonly<Record<string, JsonSchema>>,
): (values: Values) => Values {
  const names = Object.keys(schemas);
  const integers = names.filter(name => schemas[name]?.type === "integer");
  // Compiled on first use: the start should not wait for the schemas of every route.
  let validate: ValidateFunction | undefined;
  return values => {
    const known: Values = Object.fromEntries(
      names.filter(name => name in values).map(name => [name, values[name]]),
    );
    if (names.length === 0) return known;
    const bad = integers.find(name => name in known && !wholeNumber.test(String(known[name])));
    if (bad !== undefined) throw invalid(place, bad, "must be integer", known);
    validate ??= ajv.compile({ type: "object", properties: schemas });
    const given = { ...known };
    if (!validate(known) && validate.errors?.[0]) throw explain(place, validate.errors[0], given);
    return known;
  };
}

export interface RouteCheck {
  params(values: Values): Record<string, string>;
  query(values: Values): Values;
}

export function createRouteCheck(route: Route): RouteCheck {
  const params = createCheck("path argument", route.params);
  return {
    params: values => params(values) as Record<string, string>,
    query: createCheck("query argument", route.query),
  };
}
