// node liveClient.js URL COUNT: calls URL until it has COUNT answers, one after another, and prints how long that took.
import { get } from "node:http";

const [url = "", count = "1"] = process.argv.slice(2);

/** Reads an answer without parsing it, because parsing costs the same for every server. */
function read(): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, response => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.once("end", () => resolve(bytes));
    }).once("error", reject);
  });
}

let bytes = 0;
const startMs = performance.now();
for (let answer = 0; answer < Number(count); answer++) bytes += await read();
process.stdout.write(JSON.stringify({ ms: performance.now() - startMs, bytes }));
