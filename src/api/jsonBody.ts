import { Ajv2020 } from "ajv/dist/2020.js";
import { PortalError } from "../portalError.js";
import type { JsonSchema } from "./route.js";

const ajv = new Ajv2020();

/** The body of a call as JSON of this shape; throws `BodyInvalid`, which says what is wrong with it. */
export function jsonBody<T>(body: string, schema: JsonSchema): T {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw PortalError.malformed("BodyInvalid", "The body is not JSON");
  }
  const validate = ajv.compile(schema);
  if (validate(value)) return value as T;
  const [error] = validate.errors ?? [];
  throw PortalError.malformed(
    "BodyInvalid",
    `The body${error?.instancePath ?? ""} ${error?.message ?? "is wrong"}`,
  );
}
