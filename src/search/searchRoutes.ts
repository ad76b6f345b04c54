import { defineRoute, type Route } from "../api/route.js";
import { list, number, object, oneOfTexts, text } from "../api/schemas.js";
import type { Query } from "../store/store.js";
import { search } from "./search.js";

const hit = object({
  source: oneOfTexts("session", "task", "job", "run"),
  id: text,
  "n?": number,
  "time?": number,
  what: oneOfTexts("request", "message", "tool", "reason", "title", "input"),
  title: text,
  "job?": object({ id: text, name: text }),
  snippet: object({ text, marks: list(list(number)) }),
});

export function searchRoutes(query: Query): Route[] {
  return [
    defineRoute({
      path: "copilot/search",
      reads: true,
      methods: ["GET"],
      summary: "Where words occur in everything that was said, newest first",
      query: {
        q: {
          type: "string",
          maxLength: 1000,
          description: 'Words, "phrases", `or` and `-word`; the last word may be incomplete.',
        },
        limit: { type: "integer", minimum: 1, maximum: 100, default: 20 },
      },
      answers: { json: object({ hits: list(hit) }) },
      handler: async ({ query: { q = "", limit = 20 } }) => ({ hits: await search(query, q, limit) }),
    }),
  ];
}
