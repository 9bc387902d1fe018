/** `webhooks dev --tunnel`, with a script as the program. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { type RunningCommand, startWebhooks } from "./support/cli.ts";
import { waitFor } from "./support/client.ts";
import { startGiteaPlaces } from "./support/vendors/gitea-places.ts";
import { startVendor, TOKEN, type VendorServer } from "./support/vendors/hook-vendors.ts";
import { isRunning } from "./support/is-running.ts";
import { spawnWebhooks } from "./support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "./support/service.ts";

const TUNNEL = "https://t-123.example.org";
const SECRET = "a-signing-secret-of-good-length";

let folder: string;
let vendor: VendorServer | undefined;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-tunnel-"));
  // The program ends with the one that started it, or with its signal.
  writeScript(
    `echo $$ > pid\necho "$1" > port\necho "See http://docs.example.com."\necho "Your address: ${TUNNEL}/ !" >&2\nexec sleep 600`,
  );
});
afterEach(async () => {
  await vendor?.close();
  vendor = undefined;
  rmSync(folder, { recursive: true, force: true });
});

function writeScript(commands: string): void {
  const file = path.join(folder, "tunnel.sh");
  writeFileSync(file, `#!/bin/sh\n${commands}\n`);
  chmodSync(file, 0o755);
}

function writeConfig(config: UserConfig): void {
  const settings = withTokens({ ...config, gateway: { auth: { token: GATEWAY_TOKEN }, port: 0, ...config.gateway } });
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(settings));
}

const SQUARE = {
  match: { path: "square" },
  auth: { scheme: "square", secret: SECRET },
  messageTemplate: "{{event_id}}",
};

async function start(...more: string[]): Promise<{ running: RunningCommand; local: string; port: number }> {
  const running = startWebhooks(folder, ["dev", "--json", "--tunnel", "./tunnel.sh {port}", ...more]);
  const first = await waitFor(() => running.stdout().split("\n")[0] || undefined);
  return { running, local: JSON.parse(first).url, port: Number(readFileSync(path.join(folder, "port"), "utf8")) };
}

test("the hooks can be reached through it, and page, sign-in and API cannot", async () => {
  writeConfig({ hooks: { mappings: [SQUARE] } });
  const { running, port, local } = await start();
  const tunnel = `http://127.0.0.1:${port}`;
  const body = '{"event_id":"e-1"}';
  const sign = (address: string): string =>
    createHmac("sha256", SECRET)
      .update(address + body)
      .digest("base64");
  const post = (signature: string) =>
    fetch(`${tunnel}/hooks/square`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-square-hmacsha256-signature": signature },
      body,
    });
  // The sender signs the address that it knows.
  expect((await post(sign(`${TUNNEL}/hooks/square`))).status).toBe(202);
  expect((await post(sign(`${local}/hooks/square`))).status).toBe(401);
  const wake = {
    method: "POST",
    headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" },
    body: '{"text":"x"}',
  };
  expect((await fetch(`${tunnel}/hooks/wake`, wake)).status).toBe(200);

  const headers = {
    authorization: `Bearer ${GATEWAY_TOKEN}`,
    host: "t-123.example.org",
    "content-type": "application/json",
  };
  for (const [method, target] of [
    ["GET", "/"],
    ["GET", "/page/index.js"],
    ["GET", "/api/status"],
    ["GET", "/api/events"],
    ["POST", "/api/session"],
    ["POST", "/api/try"],
    ["GET", "/metrics"],
    ["GET", "/healthz"],
    ["POST", "/mail/push"],
    ["GET", "//api/status"],
    ["GET", "/hooks/../metrics"],
    ["GET", "/hooks/%2e%2e/metrics"],
    ["GET", "http://x/metrics"],
  ] as const) {
    const answer = await send(
      port,
      `${method} ${target}`,
      headers,
      method === "POST" ? `{"token":"${GATEWAY_TOKEN}"}` : "",
    );
    expect([method, target, answer.split("\r\n")[0]]).toEqual([
      method,
      target,
      expect.stringMatching(/ (?:401|404|405) /),
    ]);
    expect(answer).not.toMatch(/set-cookie|generation|<html|hookline_/i);
  }
  // Its listener has the options of the service's own, also their time limits: Node's own answer would have no body.
  const headless = await send(port, "POST /hooks/wake", { authorization: `Bearer ${HOOK_TOKEN}` }, "");
  expect(headless).toContain("The Host header is missing.");
  expect(headless).toContain("X-Content-Type-Options: nosniff");
  // The page's host names do not change.
  expect((await send(Number(new URL(local).port), "GET /", headers, "")).split("\r\n")[0]).toContain(" 403 ");
  running.stop();
  const { code, stderr } = await running.ended;
  expect({ code, stderr }).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`The tunnel ${TUNNEL} leads to the hooks`),
  });
  await expect(fetch(tunnel)).rejects.toThrow("fetch failed");
});

test.each([
  ["exit 3", /failed: it ended \(3\) before it opened a tunnel/],
  ["echo 'Log in first, see https://docs.example.com/login'; exit 3", /failed: it ended \(3\) before it opened/],
  ["echo no address; exit 0", /\n {2}no address/],
])("a program that does %j is an error that shows what it said", async (commands, expected) => {
  writeConfig({});
  writeScript(commands);
  const result = await startWebhooks(folder, ["dev", "--tunnel", "./tunnel.sh"]).ended;
  expect(result).toMatchObject({ code: 1, stderr: expect.stringMatching(expected) });
});

test.each([
  ["cloudflared", `failed to request quick Tunnel: Post \\"https://api.trycloudflare.com/tunnel\\": no network`],
  ["ngrok", "ERROR: Sign up for an account: https://dashboard.ngrok.com/signup"],
])("an address in an error of %s is none of a tunnel", async (program, said) => {
  writeConfig({});
  writeScript(`echo "${said}" >&2\nexec sleep 1`);
  renameSync(path.join(folder, "tunnel.sh"), path.join(folder, program));
  const running = startWebhooks(folder, ["dev", "--tunnel", `./${program}`]);
  await expect.poll(() => running.stderr()).toMatch(/failed: it ended \(0\)|leads to the hooks/);
  running.stop();
  expect((await running.ended).stderr).toContain("before it opened a tunnel");
});

test.each([
  ["cloudflared", "INF |  https://a-quick-name.trycloudflare.com  |", "https://a-quick-name.trycloudflare.com"],
  ["ngrok", "lvl=info msg=started addr=http://127.0.0.1 url=https://a1.ngrok-free.app", "https://a1.ngrok-free.app"],
])("%s names the address of its tunnel", async (program, said, url) => {
  writeConfig({});
  writeScript(
    `echo "See https://api.trycloudflare.com and https://dashboard.ngrok.com."\necho "${said}"\nexec sleep 600`,
  );
  renameSync(path.join(folder, "tunnel.sh"), path.join(folder, program));
  const running = startWebhooks(folder, ["dev", "--tunnel", `./${program}`]);
  await expect.poll(() => running.stderr()).toContain(`The tunnel ${url} leads to the hooks`);
  running.stop();
  await running.ended;
});

test("an address at the end of an output without a line end counts, once it is whole", async () => {
  writeConfig({});
  writeScript(`printf 'Ready: https://t-1'\nsleep 0.3\nprintf '23.example.org'\nexec sleep 600`);
  const running = startWebhooks(folder, ["dev", "--tunnel", "./tunnel.sh"]);
  await expect.poll(() => running.stderr()).toContain(`The tunnel ${TUNNEL} leads to the hooks`);
  running.stop();
  await running.ended;
});

test("a program that is not installed is named", async () => {
  writeConfig({});
  const result = await startWebhooks(folder, ["dev", "--tunnel"], { env: { PATH: folder } }).ended;
  expect(result).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("cloudflared failed: it cannot be started"),
  });
});

test("with --register, webhooks of all places lead to the tunnel while it is open", async () => {
  const server = await startGiteaPlaces(["acme/app", "acme/api"]);
  vendor = { ...(await startVendor("gitea")), close: server.close };
  writePreset({ url: server.url, place: ["acme/app", "acme/api", "!acme/secret"] });
  const { running } = await start("--register");
  const made = { config: { url: `${TUNNEL}/hooks/gitea`, secret: SECRET } };
  await expect.poll(() => [...server.hooks.values()]).toMatchObject([[made], [made]]);
  running.stop();
  expect((await running.ended).code).toBe(0);
  expect([...server.hooks.values()]).toEqual([[], []]);
});

test("what a killed one left is removed by the next one, or by presets disable --unregister", async () => {
  vendor = await startVendor("gitea");
  writePreset();
  const child = spawnWebhooks([
    "dev",
    "--json",
    "--config",
    path.join(folder, "webhooks.json5"),
    "--tunnel",
    `${folder}/tunnel.sh {port}`,
    "--register",
  ]);
  child.stdout.resume();
  child.stderr.resume();
  await expect.poll(() => vendor?.hooks).toMatchObject([{ url: `${TUNNEL}/hooks/gitea` }]);
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  // Its program ends with it.
  const program = readFileSync(path.join(folder, "pid"), "utf8").trim();
  await expect.poll(() => isRunning(program)).toBe(false);
  const file = path.join(folder, ".webhooks/tunnel-webhooks.json");
  const [left, hooks] = [readFileSync(file), structuredClone(vendor.hooks)];

  const { running } = await start();
  await expect.poll(() => vendor?.hooks).toEqual([]);
  running.stop();
  await running.ended;

  writeFileSync(file, left);
  vendor.hooks.push(...hooks);
  const disable = ["presets", "disable", "gitea", "--unregister", "--yes"];
  expect((await startWebhooks(folder, disable).ended).stdout).toContain("Removed the webhook of an earlier tunnel");
  expect(vendor.hooks).toEqual([]);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual([]);
});

test("a secret that the sender makes for the tunnel is used at once", async () => {
  vendor = await startVendor("stripe");
  const use = { use: "stripe", with: { secret: "${STRIPE_SECRET}", apiToken: TOKEN, apiUrl: vendor.url } };
  writeConfig({ hooks: { presets: [use] } });
  const { running, port } = await start("--register");
  await expect.poll(() => vendor?.hooks).toHaveLength(1);
  const body = '{"id":"evt_1","type":"invoice.payment_failed","data":{"object":{"id":"in_1"}}}';
  const post = async (): Promise<number> => {
    const time = Math.floor(Date.now() / 1000);
    const mac = createHmac("sha256", String(vendor?.hooks[0]?.secret)).update(`${time}.${body}`).digest("hex");
    const init = {
      method: "POST",
      headers: { "content-type": "application/json", "stripe-signature": `t=${time},v1=${mac}` },
      body,
    };
    return (await fetch(`http://127.0.0.1:${port}/hooks/stripe`, init)).status;
  };
  await expect.poll(post).toBe(202);
  running.stop();
  await running.ended;
  expect(vendor.hooks).toEqual([]);
});

function writePreset({ url = vendor?.url, place = ["acme/app"] } = {}): void {
  const use = { use: "gitea", with: { secret: SECRET, apiToken: TOKEN, apiUrl: url, place } };
  writeConfig({ gateway: { publicUrl: "https://127.0.0.1:9" }, hooks: { presets: [use] } });
}

/** The whole answer to a request whose target is sent as it is. */
async function send(port: number, line: string, headers: Record<string, string>, body: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const lines = Object.entries({ ...headers, "content-length": String(body.length), connection: "close" }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.write([`${line} HTTP/1.1`, ...lines, "", body].join("\r\n"));
  return text(socket);
}
