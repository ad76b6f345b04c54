import type { PermissionOption } from "../../live/callbacks.js";
import { jobToolNames } from "../jobTools.js";
import { type Fields, fieldsOf, given, listOf, textOf } from "./fields.js";

/** A card has room for a few choices; the protocol knows four kinds. */
const maxOptions = 20;
const maxOptionIdChars = 500;
const maxOptionNameChars = 200;
const maxOptionKindChars = 50;

/** The answer on the wire: no other form is valid. */
export function outcomeOf(optionId: string | undefined): object {
  return {
    outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId },
  };
}

/** The call that an agent asks about. Older versions of the protocol put the title beside the options. */
export function toolCallOf(params: Fields): Fields {
  return { ...given({ title: params.title }), ...fieldsOf(params.toolCall) };
}

/** The agent's choices. An id used for two answers is dropped. */
export function optionsOf(options: unknown): PermissionOption[] {
  const offered = listOf(options)
    .slice(0, maxOptions)
    .flatMap(item => {
      const { optionId, id, kind, name } = fieldsOf(item);
      const known = textOf(optionId) ?? textOf(id);
      if (known === undefined || known.length > maxOptionIdChars) return [];
      return [
        {
          optionId: known,
          kind: (textOf(kind) ?? "").slice(0, maxOptionKindChars),
          name: (textOf(name) ?? known).slice(0, maxOptionNameChars),
        },
      ];
    });
  return offered.filter(({ optionId }) => offered.filter(other => other.optionId === optionId).length === 1);
}

const jobToolCallFields = ["toolCallId", "title", "name", "kind", "status", "rawInput", "_meta"];

/**
 * Whether a request is for a job tool, which needs no permission. Everything must fit: the
 * agent has listed the tools at their secret address (`hasListed`), the name is one of this server, and the input is
 * the one text that the tools take. A bare name could be any tool's.
 */
export function isJobTool(toolCall: Fields, announced: readonly Fields[], hasListed: boolean): boolean {
  const shown = textOf(toolCall.name) ?? textOf(toolCall.title) ?? "";
  if (!hasListed || shown.length > maxOptionNameChars) return false;
  if (!jobToolNames.some(tool => prefixed(tool).test(shown))) return false;
  return fitsJobTool(toolCall, 1) && announced.every(call => fitsJobTool(call, 0));
}

/** An announcement may precede the input. */
function fitsJobTool(call: Fields, minInputs: 0 | 1): boolean {
  const isKnown = Object.keys(call).every(field => jobToolCallFields.includes(field));
  const input = fieldsOf(call.rawInput);
  const inputs = Object.keys(input).length;
  const isReport = inputs === 1 && typeof input.argument === "string";
  return isKnown && (call.kind ?? "other") === "other" && (isReport || (inputs === 0 && minInputs === 0));
}

function prefixed(tool: string): RegExp {
  return new RegExp(`^(?:mcp[-_.:/]+)?portal[-_]jobs[-_.:/ ]+${tool}$|^${tool} \\(portal-jobs[^)]*\\)$`);
}
