import { bySpecificity, type JsonSchema, type Method, type Route } from "./route.js";
import { errorAnswer } from "./schemas.js";

const errorDescriptions = {
  400: "Malformed: an argument, the path or the body",
  401: "The token is missing or wrong, where the portal asks for one",
  403: "Refused by the guard",
  413: "The body is larger than the route takes: 1 MiB, and 5 MiB for a picture",
  429: "Too many wrong tokens",
  500: "Something went wrong; the log has the details under the id",
  503: "The portal is stopping, or something that it needs is missing at the moment",
};

/** `postCopilotSessionBySessionIdStop`: unique, because the pair of path and method is unique. */
function operationId(route: Route, method: Method): string {
  const words = route.path
    .replaceAll(/\{(\w+)\}/g, "by/$1")
    .split(/[^A-Za-z0-9]+/)
    .map(word => word.charAt(0).toUpperCase() + word.slice(1));
  return method.toLowerCase() + words.join("");
}

function parameters(route: Route): JsonSchema[] {
  const inPath = Object.entries(route.params).map(([name, schema]) => ({
    name,
    in: "path",
    required: true,
    schema,
  }));
  const inQuery = Object.entries(route.query).map(([name, schema]) => ({ name, in: "query", schema }));
  return [...inPath, ...inQuery];
}

function content({ answers }: Route): JsonSchema {
  return {
    ...(answers.json && { "application/json": { schema: answers.json } }),
    ...(answers.eventStream && {
      "text/event-stream": { schema: { type: "string", description: answers.eventStream } },
    }),
    ...Object.fromEntries(
      Object.entries(answers.other ?? {}).map(([mediaType, description]) => [
        mediaType,
        { schema: { type: "string", description } },
      ]),
    ),
  };
}

function bodyContent({ body, bodySchema }: Route): JsonSchema {
  if (body === "bytes")
    return { "image/*": { schema: { type: "string", contentMediaType: "application/octet-stream" } } };
  return bodySchema
    ? { "application/json": { schema: bodySchema } }
    : { "text/plain": { schema: { type: "string" } } };
}

function operation(route: Route, method: Method): JsonSchema {
  const errors = Object.keys(errorDescriptions).map(status => [
    status,
    { $ref: `#/components/responses/${status}` },
  ]);
  return {
    operationId: operationId(route, method),
    summary: route.summary,
    ...(route.description && { description: route.description }),
    ...(route.deprecated && { deprecated: true }),
    // A browser that merely navigates to an address that acts is asked first.
    "x-acts": !route.reads,
    tags: [route.path.startsWith("copilot/") ? (route.path.split("/")[1] ?? "") : "portal"],
    parameters: parameters(route),
    // OpenAPI defines no meaning for the body of a GET, although the portal reads it.
    ...(route.body !== "none" &&
      method !== "GET" && {
        requestBody: {
          ...(route.bodyDescription && { description: route.bodyDescription }),
          content: bodyContent(route),
        },
      }),
    responses: { 200: { description: "The answer", content: content(route) }, ...Object.fromEntries(errors) },
  };
}

/** The OpenAPI 3.1 document of the routes, generated from the schemas that validate the calls. */
export function openApiDocument(routes: readonly Route[], version: string): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes.toSorted(bySpecificity)) {
    const path = `/api/${route.path}`;
    for (const method of route.methods) {
      paths[path] = { ...paths[path], [method.toLowerCase()]: operation(route, method) };
    }
  }
  const errorContent = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } };
  return {
    openapi: "3.1.0",
    info: {
      title: "Copilot Portal",
      version,
      description:
        "Runs AI coding agents. Arguments come from the path, bodies are plain text, answers are JSON.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    paths,
    components: {
      schemas: { Error: errorAnswer },
      responses: Object.fromEntries(
        Object.entries(errorDescriptions).map(([status, description]) => [
          status,
          { description, content: errorContent },
        ]),
      ),
    },
  };
}
