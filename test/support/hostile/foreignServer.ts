import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { defer, type Scope } from "../cleanup.js";

/** Everything a foreign page can try without being allowed to read the answer. */
const attacks = (portal: string) => {
  const stop = `${portal}/api/stop`;
  return `<!doctype html><title>evil</title><body>
<img src="${stop}"><script src="${stop}"></script><link rel="stylesheet" href="${stop}">
<link rel="prefetch" href="${stop}"><iframe src="${stop}"></iframe><video src="${stop}"></video>
<object data="${stop}"></object><iframe src="${portal}/index.html"></iframe><img src="/302?to=${encodeURIComponent(stop)}"><iframe name="sink"></iframe>
<form id="get" action="${stop}" target="sink"></form>
<form id="text" method="post" enctype="text/plain" action="${portal}/api/copilot/session/start/demo" target="sink"><input name="/" value="x"></form>
<a id="link" href="${stop}">a link</a>
<script>
const results = [];
const note = (what, promise) => promise.then(() => results.push(what + ": " + "READ"), () => results.push(what + ": refused"));
const all = [
  note("cors", fetch("${stop}").then(r => r.text())),
  note("post", fetch("${portal}/api/copilot/session/start/demo", {method: "POST", body: "/"}).then(r => r.text())),
  note("json", fetch("${portal}/api/copilot/permission/rules/add", {method: "POST", headers: {"content-type": "application/json"}, body: "{}"}).then(r => r.text())),
  note("opaque", fetch("${stop}", {mode: "no-cors"}).then(r => r.text().then(t => t === "" ? Promise.reject() : t))),
  note("credentials", fetch("${portal}/api/copilot/models", {credentials: "include"}).then(r => r.text())),
  note("events", new Promise((yes, no) => { const s = new EventSource("${portal}/api/copilot/session/x/events"); s.onopen = yes; s.onerror = no; })),
  note("socket", new Promise((yes, no) => { const s = new WebSocket("${portal}/api/stop".replace("http", "ws")); s.onopen = yes; s.onerror = no; })),
];
navigator.sendBeacon("${stop}", "x");
document.getElementById("get").submit();
document.getElementById("text").submit();
Promise.all(all).then(() => { document.title = results.join(", "); });
</script>`;
};

export const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "evil", version: "1" } },
});
const call = JSON.stringify({
  jsonrpc: "2.0",
  id: 2,
  method: "tools/call",
  params: { name: "run_agent", arguments: { agentName: "code-reviewer", prompt: "Run for me" } },
});

/** Every way for a page to send something to an MCP endpoint and read the response. */
const mcpAttacks = (mcp: string) => `<!doctype html><title>evil</title><body><iframe name="sink"></iframe>
<form id="form" method="post" enctype="text/plain" action="${mcp}" target="sink"><input name='${initialize.slice(0, -1)},"x":"' value='"}'></form>
<script>
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const plain = { accept: "application/json, text/event-stream" };
const results = [];
const note = (what, promise) => promise.then(() => results.push(what + ": READ"), () => results.push(what + ": refused"));
const read = response => response.text().then(text => response.ok && text !== "" ? text : Promise.reject());
const all = [
  note("json", fetch("${mcp}", { method: "POST", headers, body: ${JSON.stringify(initialize)} }).then(read)),
  note("simple", fetch("${mcp}", { method: "POST", headers: plain, body: ${JSON.stringify(initialize)} }).then(read)),
  note("opaque", fetch("${mcp}", { method: "POST", mode: "no-cors", body: ${JSON.stringify(initialize)} }).then(read)),
  note("call", fetch("${mcp}", { method: "POST", headers: { ...headers, "mcp-session-id": "x" }, body: ${JSON.stringify(call)} }).then(read)),
  note("stream", new Promise((yes, no) => { const s = new EventSource("${mcp}"); s.onopen = yes; s.onerror = () => { s.close(); no(); }; })),
  note("end", fetch("${mcp}", { method: "DELETE", headers: { "mcp-session-id": "x" } }).then(read)),
];
navigator.sendBeacon("${mcp}", ${JSON.stringify(initialize)});
document.getElementById("form").submit();
Promise.all(all).then(() => { document.title = results.join(", "); });
</script>`;

/** Each of these pages sends its visitor to `to` in a different way. */
const senders: Record<string, (to: string) => string> = {
  "/speculation": to =>
    `<script type="speculationrules">${JSON.stringify({
      [new URL(to).searchParams.get("how") ?? ""]: [{ source: "list", urls: [to], eagerness: "immediate" }],
    })}</script>`,
  "/hints": to =>
    ["prefetch", "prerender", "preload", "modulepreload", "preconnect", "dns-prefetch"]
      .map(rel => `<link rel="${rel}" as="fetch" href="${to}">`)
      .join(""),
  "/link": to =>
    `<a href="${to}" referrerpolicy="no-referrer">x</a><script>document.links[0].click()</script>`,
  "/open": to => `<button onclick="open('${to}', '_self', 'noreferrer')">x</button>`,
  "/location": to => `<script>location = "${to}"</script>`,
  "/refresh": to =>
    `<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${to}">`,
  "/get": to => `<form action="${to}"></form><script>document.forms[0].submit()</script>`,
  "/post": to => `<form method="post" action="${to}"><input name="confirm" value="1.x"></form>
    <script>document.forms[0].submit()</script>`,
  "/history": to => `<script>location.replace("/303?to=${encodeURIComponent(to)}")</script>`,
};

/**
 * A foreign server; gives its port. `/attacks` tries everything on the portal at `?to=`, `/mcp` on its MCP address;
 * `/STATUS` redirects there, and each other path sends its visitor there in a different way.
 */
export async function startForeignServer(t: Scope): Promise<number> {
  const server = createServer((req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? "/", "http://evil.example");
    const to = searchParams.get("to") ?? "";
    const status = Number(pathname.slice(1));
    if (status) return void res.writeHead(status, { location: to, "referrer-policy": "no-referrer" }).end();
    res.setHeader("content-type", "text/html");
    const page = { "/attacks": attacks, "/mcp": mcpAttacks }[pathname];
    res.end(page ? page(to) : `<!doctype html><title>evil</title>${senders[pathname]?.(to) ?? ""}`);
  });
  server.listen(0, "127.0.0.1");
  await new Promise(resolve => server.once("listening", resolve));
  defer(t, () => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}
