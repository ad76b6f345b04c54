import { Ajv2020 } from "ajv/dist/2020.js";
import { JsonError, parseJson } from "../base/json.js";
import { PortalError } from "../base/portalError.js";
import type { JsonSchema } from "./route.js";

// Without this option, Ajv's warnings about a schema would bypass the log. A test checks the schemas themselves.
const ajv = new Ajv2020({ allowUnionTypes: true, validateSchema: false });

function read(body: string): unknown {
  try {
    return parseJson(body);
  } catch (error) {
    const isDeep = error instanceof JsonError && error.problem === "too-deep";
    throw PortalError.malformed("BodyInvalid", isDeep ? error.message : "The body is not JSON");
  }
}

/** Reads the body of a call as JSON that fits the schema; throws `BodyInvalid`, which says what is wrong. */
export function jsonBody(body: string, schema: JsonSchema): unknown {
  const value = read(body);
  const validate = ajv.compile(schema);
  if (validate(value)) return value;
  const [error] = validate.errors ?? [];
  throw PortalError.malformed(
    "BodyInvalid",
    `The body${error?.instancePath ?? ""} ${error?.message ?? "is wrong"}`,
  );
}
