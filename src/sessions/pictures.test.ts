import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { kindOfPicture, Pictures } from "./pictures.js";

const bytes = (text: string) => Buffer.from(text, "latin1");
const png = bytes("\x89PNG\r\n\x1a\n and the rest");

describe("Pictures of requests", () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "portal-pictures-"));
  });
  after(() => rm(folder, { recursive: true }));

  test("the first bytes decide what a picture is", () => {
    const kinds = [
      [png, "png"],
      [bytes("\xff\xd8\xff\xe0 JFIF"), "jpg"],
      [bytes("GIF87a…"), "gif"],
      [bytes("GIF89a…"), "gif"],
      [bytes("RIFF\x10\0\0\0WEBPVP8 "), "webp"],
      [bytes("RIFF\x10\0\0\0WAVEfmt "), undefined],
      [bytes("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"), undefined],
      [bytes("<!doctype html><script>alert(1)</script>"), undefined],
      [bytes("\x89PN"), undefined],
      [Buffer.alloc(0), undefined],
    ] as const;
    for (const [data, kind] of kinds) assert.equal(kindOfPicture(data), kind, data.toString("latin1"));
  });

  test("a picture is kept once for its session, read by its name and deleted with the session", async () => {
    const pictures = new Pictures(folder);
    const name = await pictures.keep("one", png);
    assert.match(name, /^[0-9a-f]{32}\.png$/);
    assert.equal(await pictures.keep("one", png), name);
    assert.deepEqual(await pictures.read("one", name), { name, mimeType: "image/png", data: png });
    await assert.rejects(pictures.read("two", name), { code: "PictureNotFound" });
    await pictures.delete("one");
    await assert.rejects(pictures.read("one", name), { code: "PictureNotFound" });
    await pictures.delete("never was");
  });

  test("neither a name nor the id of a session leaves the folder", async () => {
    const pictures = new Pictures(join(folder, "inner"));
    await pictures.keep("../../outside", png);
    assert.deepEqual((await readdir(folder)).toSorted(), ["inner"]);
    for (const name of ["../inner", "..", "", "a.png", `${"a".repeat(32)}.svg`, `${"a".repeat(32)}.png/..`])
      await assert.rejects(pictures.read("../../outside", name), { code: "PictureNotFound" });
  });

  test("a session has at most 200 pictures", async () => {
    const pictures = new Pictures(folder);
    const numbered = (n: number) => Buffer.concat([png, bytes(String(n))]);
    for (let n = 0; n < 200; n++) await pictures.keep("full", numbered(n));
    await assert.rejects(pictures.keep("full", numbered(200)), { code: "TooManyPictures" });
    await pictures.keep("full", numbered(7));
  });
});
