import { namedNodeErrors, nodeQuery } from "../api/nodeQuery.js";
import { defineRoute, type Route } from "../api/route.js";
import { domainError, either, flag, list, number, object, oneOfTexts, text } from "../api/schemas.js";
import type { ModelCatalog } from "./catalog.js";

const model = object({
  id: text,
  name: text,
  multiplier: number,
  backend: oneOfTexts("github", "provider", "demo", "acp"),
  "agent?": text,
  "vision?": flag,
});
const notice = object({ level: oneOfTexts("info", "warning", "error"), message: text });

export function modelRoutes(models: ModelCatalog): Route[] {
  return [
    defineRoute({
      path: "copilot/models",
      reads: true,
      summary: "Every model that a session can be started with",
      description: "Notices, where there are some, say which backends are missing and how to get them.",
      query: nodeQuery,
      answers: {
        json: either(
          object({ models: list(model), "notices?": list(notice) }),
          domainError(...namedNodeErrors),
        ),
      },
      handler: async () => {
        const { models: listed, notices } = await models.list();
        return { models: listed, ...(notices.length > 0 && { notices }) };
      },
    }),
  ];
}
