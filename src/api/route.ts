import type { Request, Response } from "express";
import type { FromSchema } from "json-schema-to-ts";

/** A JSON Schema (2020-12): the same one validates a call and describes it in openapi.json. */
export type JsonSchema = { readonly [keyword: string]: unknown };

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** A call works with GET and POST unless its route says otherwise. */
const anyMethod: readonly Method[] = ["GET", "POST"];

type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never;

type QuerySchemas = Readonly<Record<string, JsonSchema>>;
type QueryValue<Schema> = Schema extends { readonly type: "integer" | "number" }
  ? number
  : Schema extends { readonly type: "boolean" }
    ? boolean
    : string;

/** The type of a body that the schema accepts. */
export type BodyOf<Schema> = Schema extends { readonly type: "object" } ? FromSchema<Schema> : undefined;

/** What a handler gets: validated, decoded values, and the raw request and response for handlers that stream. */
export interface Call<Params = Record<string, string>, Query = Record<string, unknown>, Json = unknown> {
  readonly params: Params;
  readonly query: Query;
  /** The text of the body; empty when the route takes none. */
  readonly body: string;
  /** The same of a route that takes bytes. */
  readonly bytes: Buffer;
  /** The same as `bodySchema` describes it; undefined where the route has none. */
  readonly json: Json;
  readonly req: Request;
  readonly res: Response;
}

interface RouteText {
  readonly summary: string;
  readonly description?: string;
  /** An older shape of another route, kept for scripts that use it. */
  readonly deprecated?: boolean;
  /**
   * The route only reads: calling it again, or by accident, changes nothing that anybody could notice. Every other
   * route acts, and a browser that is sent to its address is asked first.
   */
  readonly reads?: true;
  /** An argument of the path is a secret that the route itself checks: the portal's token is not needed. */
  readonly secretInPath?: true;
  /** Slashes in the last argument need not be encoded: it takes the rest of the path. */
  readonly lastTakesSlashes?: true;
  /** How the route reads the body; without it, the body is ignored. */
  readonly body?: "none" | "text" | "bytes";
  /** For bytes; a text has the portal's own limit. */
  readonly maxBodyBytes?: number;
  readonly bodyDescription?: string;
  /** For a JSON body. */
  readonly bodySchema?: JsonSchema;
  readonly answers: {
    /** The JSON answer with status 200, including domain errors. */
    readonly json?: JsonSchema;
    /** Describes the events of a Server-Sent Events answer. */
    readonly eventStream?: string;
    /** Other media types, and what they contain. */
    readonly other?: Readonly<Record<string, string>>;
  };
}

export interface RouteDefinition<Path extends string, Query extends QuerySchemas, Body> extends RouteText {
  readonly methods?: readonly Method[];
  readonly bodySchema?: Body & JsonSchema;
  /** Below `/api/`, with `{name}` for an argument: `copilot/session/{sessionId}/stop`. */
  readonly path: Path;
  /** Schemas of arguments that are more than plain text. */
  readonly params?: { readonly [Name in ParamNames<Path>]?: JsonSchema };
  readonly query?: Query;
  /** Returns the JSON answer; a handler that answers through `res` itself returns nothing. */
  handler(
    call: Call<
      { readonly [Name in ParamNames<Path>]: string },
      { readonly [Name in keyof Query]?: QueryValue<Query[Name]> },
      BodyOf<Body>
    >,
  ): unknown;
}

/** A route with its types erased, as the table holds it. */
export interface Route extends RouteText {
  readonly methods: readonly Method[];
  readonly path: string;
  readonly params: Readonly<Record<string, JsonSchema>>;
  readonly query: QuerySchemas;
  readonly body: "none" | "text" | "bytes";
  handler(call: Call): unknown;
}

/** Ids and names in a path: anything that a person could mean, nothing that breaks a store or a log. */
const pathText: JsonSchema = {
  type: "string",
  minLength: 1,
  maxLength: 1000,
  pattern: "^[^\\u0000-\\u001f\\u007f]*$",
};

export function paramNames(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1] ?? "");
}

export function defineRoute<
  const Path extends string,
  const Query extends QuerySchemas = Record<never, never>,
  const Body = undefined,
>(route: RouteDefinition<Path, Query, Body>): Route {
  const given: Readonly<Record<string, JsonSchema | undefined>> = route.params ?? {};
  const params = Object.fromEntries(paramNames(route.path).map(name => [name, given[name] ?? pathText]));
  const { methods = anyMethod, body = route.bodySchema ? "text" : "none", query = {} } = route;
  return { ...route, methods, params, query, body, handler: route.handler as Route["handler"] };
}

/** Fixed words come before arguments, so that the order in which modules add their routes does not matter. */
export function bySpecificity(a: Route, b: Route): number {
  const key = (route: Route) => route.path.replaceAll(/\{\w+\}/g, "\uffff");
  return key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0;
}
