export interface SseRecord {
  id: string;
  event: string;
  data: string;
}

/** Takes the text of an event stream in any pieces and gives the events that are complete. */
export class SseRecords {
  #rest = "";

  take(piece: string): SseRecord[] {
    const parts = (this.#rest + piece).split("\n\n");
    this.#rest = parts.pop() ?? "";
    return parts.flatMap(part => {
      const fields = new Map(part.split("\n").map(parseLine));
      const data = fields.get("data");
      if (data === undefined) return [];
      return [{ id: fields.get("id") ?? "", event: fields.get("event") ?? "message", data }];
    });
  }
}

function parseLine(line: string): [string, string] {
  const colon = line.indexOf(":");
  return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
}
