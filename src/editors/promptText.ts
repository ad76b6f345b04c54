import type { ContentBlock } from "@agentclientprotocol/sdk";
import { fenced } from "../base/fence.js";

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource_link":
      return `[${block.name}](${block.uri})`;
    case "resource":
      return "text" in block.resource
        ? `${block.resource.uri}:\n${fenced(block.resource.text)}`
        : `[${block.resource.uri} was left out: it is not text]`;
    default:
      return `[${block.type} was left out: the portal takes text only]`;
  }
}

/** The text for the agent: the blocks of a prompt in order; empty when there are none. */
export function promptText(blocks: readonly ContentBlock[]): string {
  const isSaid = blocks.some(({ type }) => type !== "image" && type !== "audio");
  const text = isSaid ? blocks.map(blockText).join("\n").trim() : "";
  // Half a surrogate pair cannot be sent as UTF-8, and a null character cannot be stored.
  return Buffer.from(text, "utf8").toString("utf8").replaceAll("\0", "\ufffd");
}
