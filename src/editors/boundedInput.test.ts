import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { boundedInput } from "./boundedInput.js";

async function through(...chunks: (string | Uint8Array)[]): Promise<string> {
  const input = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(Buffer.from(chunk));
      controller.close();
    },
  });
  let text = "";
  const decoder = new TextDecoder();
  for await (const part of input.pipeThrough(boundedInput())) text += decoder.decode(part, { stream: true });
  return text;
}

describe("Input from an editor", () => {
  test("input arrives line by line, whole wherever it was cut", async () => {
    const bytes = Buffer.from('{"a":"日本"}\nno message\n');
    assert.equal(await through(bytes.subarray(0, 8), bytes.subarray(8)), '{"a":"日本"}\nno message\n');
  });

  const refused: Record<string, string> = {
    "too deep": `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`,
    "too long": JSON.stringify("x".repeat(5 * 1024 * 1024)),
    "made of too many values": `[0${",{}".repeat(200_000)}]`,
  };
  for (const [what, line] of Object.entries(refused))
    test(`a line that is ${what} is refused, and the next line is read`, async () => {
      assert.equal(await through(`${line}\n{"next":1}\n`), 'refused\n{"next":1}\n');
    });

  test("input ends at a line of more than 32 MiB", async () => {
    const megabyte = "x".repeat(1024 * 1024);
    assert.equal(await through("{}\n", ...Array.from({ length: 33 }, () => megabyte), "\n{}\n"), "{}\n");
  });
});
