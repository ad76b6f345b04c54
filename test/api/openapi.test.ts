import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { sharedPortal } from "../support/portal/restSession.js";

interface Operation {
  operationId: string;
  summary: string;
  parameters: { name: string; in: string; required?: boolean; schema: object }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: object }> }>;
}
interface Document {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, unknown>; schemas: Record<string, object> };
}

const portalOf = sharedPortal();
async function documentOf(t: TestContext) {
  const { portal } = await portalOf(t);
  return { portal, body: (await portal.api<Document>("openapi.json")).body };
}

describe("openapi.json", () => {
  test("openapi.json describes every route completely and without contradiction", async t => {
    const { body } = await documentOf(t);
    assert.equal(body.openapi, "3.1.0");
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    const operations = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
    const known = ["test", "config", "stop", "token", "health", "copilot/models", "openapi.json"];
    for (const path of known) assert.ok(body.paths[`/api/${path}`], path);

    const ids = operations.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length, "operation ids are unique");
    for (const { path, method, operation } of operations) {
      const place = `${method} ${path}`;
      assert.match(method, /^(get|post|put|delete)$/, place);
      assert.ok(operation.summary.length > 0, place);
      const inPath = operation.parameters.filter(({ in: where }) => where === "path");
      assert.deepEqual(
        inPath.map(({ name }) => name),
        [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]),
        place,
      );
      assert.ok(
        inPath.every(({ required }) => required === true),
        place,
      );
      for (const { schema } of operation.parameters) ajv.compile(schema);
      for (const { schema } of Object.values(operation.requestBody?.content ?? {})) ajv.compile(schema);
      const contents = Object.values(operation.responses["200"]?.content ?? {});
      assert.ok(contents.length > 0, `${place} says what it answers`);
      for (const { schema } of contents) ajv.compile(schema);
      for (const [status, { $ref }] of Object.entries(operation.responses)) {
        if (status !== "200") assert.equal($ref, `#/components/responses/${status}`, place);
        if (status !== "200") assert.ok(body.components.responses[status], place);
      }
    }
  });

  test("errors have the shape that openapi.json describes", async t => {
    const { portal, body } = await documentOf(t);
    const validate = new Ajv2020().compile(body.components.schemas.Error ?? false);
    const { status, body: error } = await portal.api("none");
    assert.equal(status, 404);
    assert.ok(validate(error), JSON.stringify(validate.errors));
  });
});
