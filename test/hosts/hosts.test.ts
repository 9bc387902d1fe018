import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { PACKAGE } from "../support/program.ts";
import { findFreePort } from "../system/find-free-port.ts";

const FOLDER = import.meta.dirname;
const TOKEN = "a-long-random-hook-token";
const BEARER = { authorization: `Bearer ${TOKEN}` };
const CONFIG = {
  hooks: { enabled: true, token: TOKEN, mappings: [{ match: { path: "deploys" }, messageTemplate: "{{service}}" }] },
  store: { path: "./state" },
  log: { level: "warn" },
};

const PAGE = readFileSync(path.join(FOLDER, "../../docs/guide/library.md"), "utf8");
const RECIPES = new Map(
  Array.from(PAGE.matchAll(/^```js (\S+)\n(.*?)^```$/gms), ([, file = "", code = ""]) => [file, code]),
);

/** `next dev` calls an exported function by its method, with a web-standard request of a Node stream. */
const NEXT = `
import http from "node:http";
import { Readable } from "node:stream";
import * as route from "./app/hooks/[...hook]/route.js";
http.createServer(async (req, res) => {
  if (!req.url.startsWith("/hooks/")) return res.end("my app");
  const body = req.method === "POST" ? Readable.toWeb(req) : undefined;
  const request = new Request("http://localhost" + req.url, { method: req.method, headers: req.headers, body, duplex: "half" });
  const response = await route[req.method](request).catch(() => undefined);
  if (!response) return res.destroy();
  res.writeHead(response.status, Object.fromEntries(response.headers));
  res.end(Buffer.from(await response.arrayBuffer()));
}).listen(3000);
`;

describe.each(["http.mjs", "express.mjs", "fastify.mjs", "hono.mjs", "app/hooks/[...hook]/route.js"])("%s", (file) => {
  test("answers what its page says, and outlives every request", async () => {
    const host = await startHost(file);
    const post = async (name: string, init: RequestInit = {}): Promise<number> => {
      const response = await fetch(`${host.url}/hooks/${name}`, { method: "POST", headers: BEARER, ...init });
      await response.text();
      return response.status;
    };
    const body = JSON.stringify({ service: "api" });
    expect(await post("deploys", { body })).toBe(202);
    expect(await post("nothing", { body })).toBe(404);
    expect(await post("deploys", { body: "{" })).toBe(400);
    for (const size of [1, 3, 10_000, 200_000, 3_000_000]) {
      expect(await post("deploys", { body: "x".repeat(size), headers: {} })).toBe(401);
    }
    expect(await post("deploys", { body: "x".repeat(3_000_000) })).toBe(413);
    expect(
      await sendRaw(host.port, "Content-Length: 17\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n", body),
    ).toBe(202);
    // A client that goes away in its body.
    await sendRaw(host.port, "Content-Length: 100\r\n\r\n{", "");
    expect(await post("deploys", { body })).toBe(202);
    if (file !== "http.mjs") expect(await (await fetch(`${host.url}/`)).text()).toBe("my app");
    expect(host.child.exitCode).toBeNull();
    host.child.kill("SIGKILL");
    expect(await host.errors).not.toMatch(/Error|uncaught/i);
  });
});

async function startHost(
  file: string,
): Promise<{ url: string; port: number; child: ChildProcess; errors: Promise<string> }> {
  const folder = mkdtempSync(path.join(FOLDER, "node_modules/host-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const port = await findFreePort();
  const write = (name: string, content: string): void => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), content.replaceAll("3000", String(port)));
  };
  write("webhooks.jsonc", JSON.stringify(CONFIG));
  write("package.json", '{ "type": "module" }');
  write(file, RECIPES.get(file) ?? "");
  write("next.mjs", NEXT);
  mkdirSync(path.join(folder, "node_modules"));
  symlinkSync(PACKAGE, path.join(folder, "node_modules/hookline"));
  const child = spawn(process.execPath, [file.endsWith("route.js") ? "next.mjs" : file], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const url = `http://127.0.0.1:${port}`;
  await expect
    .poll(
      () =>
        fetch(url).then(
          (response) => response.status,
          () => 0,
        ),
      { timeout: 20_000 },
    )
    .toBeGreaterThan(0);
  return { url, port, child, errors: text(child.stderr) };
}

/** Sends the head, waits for its 100 Continue if it expects one, sends the body; the status of the answer, or 0. */
async function sendRaw(port: number, head: string, body: string): Promise<number> {
  const socket = connect({ port, host: "127.0.0.1" });
  let received = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => void (received += chunk));
  socket.write(`POST /hooks/deploys HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n${head}`);
  if (!head.includes("Expect")) {
    await sleep(50);
    socket.destroy();
    return 0;
  }
  await expect.poll(() => received).toContain("100 Continue");
  socket.write(body);
  await once(socket, "close");
  expect(received.match(/100 Continue/g)).toHaveLength(1);
  return Number(received.match(/HTTP\/1\.1 ([2-5]\d\d)/)?.[1]);
}
