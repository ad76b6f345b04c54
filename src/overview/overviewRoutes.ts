import { defineRoute, type Route } from "../api/route.js";
import { list, object, oneOfTexts, text } from "../api/schemas.js";
import { EventStream } from "../live/eventStream.js";
import { shownStates } from "../nodes/shownNode.js";
import { whereaboutsFields } from "../nodes/whereabouts.js";
import { pendingRequest } from "../permissions/permissionRoutes.js";
import type { Overview } from "./overview.js";

const activeItem = object({
  kind: oneOfTexts("session", "job"),
  id: text,
  title: text,
  workingDirectory: text,
  state: oneOfTexts("running", "waiting", "paused"),
  doing: text,
  since: text,
  ...whereaboutsFields,
});

export function overviewRoutes(overview: Overview): Route[] {
  return [
    defineRoute({
      path: "copilot/overview",
      reads: true,
      summary: "Every session and job that runs or waits for its user, and the requests that wait",
      answers: {
        json: object({
          active: list(activeItem),
          requests: list(pendingRequest),
          "node?": text,
          "nodes?": list(object({ name: text, state: oneOfTexts(...shownStates) })),
        }),
      },
      handler: () => overview.now(),
    }),
    defineRoute({
      path: "copilot/overview/events",
      reads: true,
      methods: ["GET"],
      summary: "The same as a stream of Server-Sent Events: now, and after each change",
      answers: { eventStream: "The whole overview each time, at most five times a second." },
      handler: ({ res }) => overview.follow(new EventStream(res)),
    }),
  ];
}
