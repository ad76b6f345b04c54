import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StoredResponse } from "../live/storedResponse.js";
import { reportedEdits } from "./reportedEdits.js";

async function* log(...responses: object[]): AsyncGenerator<StoredResponse> {
  for (const response of responses) yield response as StoredResponse;
}

const request = { callback: "onUserRequest", requestId: "r", prompt: "" };
const start = (toolCallId: string, toolName: string, input: object, more = {}) => ({
  callback: "onStartToolExecution",
  toolCallId,
  toolName,
  toolArguments: JSON.stringify(input),
  ...more,
});
const end = (toolCallId: string, more = {}) => ({ callback: "onEndToolExecution", toolCallId, ...more });

describe("Where there is no repository", () => {
  test("the files of editing tools are known, of the Copilot runtime and of ACP agents", async () => {
    const files = await reportedEdits(
      log(
        request,
        start("1", "create", { path: "/work/new.txt", file_text: "1\n2\n" }),
        end("1"),
        start("2", "edit", { path: "/work/new.txt", old_str: "2\n", new_str: "3\n4\n" }),
        end("2"),
        start("3", "Write", {}, { kind: "edit" }),
        end("3", { diffs: [{ path: "/work/sub/acp.txt", oldText: "a\n", newText: "b\n" }] }),
        start("4", "remove", {}, { kind: "delete", locations: [{ path: "/work/gone.txt" }] }),
        end("4"),
      ),
      "/work",
    );
    assert.deepEqual(files, [
      { path: "new.txt", kind: "added", added: 4, deleted: 1 },
      { path: "sub/acp.txt", kind: "changed", added: 1, deleted: 1 },
      { path: "gone.txt", kind: "deleted", added: 0, deleted: 0 },
    ]);
  });

  test("tools that failed, tools that only read and broken arguments count for nothing", async () => {
    const files = await reportedEdits(
      log(
        request,
        start("1", "create", { path: "/work/failed.txt", file_text: "" }),
        end("1", { error: { message: "no" } }),
        start("2", "view", { path: "/work/read.txt" }),
        end("2"),
        { ...start("3", "edit", {}), toolArguments: '{"path": ' },
        end("3"),
      ),
      "/work",
    );
    assert.deepEqual(files, []);
  });

  test("one turn has its own files only", async () => {
    const responses = () =>
      log(
        request,
        start("1", "create", { path: "/work/first.txt", file_text: "x" }),
        end("1"),
        request,
        start("2", "create", { path: "/work/second.txt", file_text: "x" }),
        end("2"),
      );
    const paths = async (turn?: number) =>
      (await reportedEdits(responses(), "/work", turn)).map(({ path }) => path);
    assert.deepEqual(await paths(2), ["second.txt"]);
    assert.deepEqual(await paths(), ["first.txt", "second.txt"]);
  });
});
