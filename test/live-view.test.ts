/** The view of `webhooks serve` on a terminal. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient, waitFor } from "./support/client.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "./support/service.ts";
import { openTerminal } from "./support/terminal.ts";

const TRANSFORM = `export default ({ payload }) => {
  console.log("checking", payload.job);
  if (!payload.job) throw new Error("the payload has no job");
  return payload.job === "skip" ? null : { message: payload.job + " failed" };
};
`;

let folder: string;
let terminal: ReturnType<typeof openTerminal>;
let url: string;
let client: Client;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-live-"));
  mkdirSync(path.join(folder, "transforms"));
  writeFileSync(path.join(folder, "transforms/ci.ts"), TRANSFORM);
  const mappings = [{ id: "builds", match: { path: "ci" }, transform: { module: "ci.ts" } }];
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens({ hooks: { mappings } })));
  terminal = openTerminal(folder, ["serve", "--port", "0"]);
  url = await waitFor(() => /Listening on (\S+)/.exec(terminal.shown())?.[1]);
  client = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
});
afterAll(async () => {
  terminal.stop();
  await terminal.end();
  rmSync(folder, { recursive: true, force: true });
});

test("the start lists hooks, agent and the operator's side, and ends with the address", () => {
  const lines = terminal.shown().trimEnd().split("\n");
  expect(lines.slice(1)).toEqual([
    `Hooks     ${url}/hooks/ci  builds`,
    `          ${url}/hooks/wake`,
    `          ${url}/hooks/agent`,
    "Agent     echo, a placeholder that repeats its prompt: set agents.providers to use a model",
    expect.stringMatching(/^Modules {3}ci\.ts \d\.\d KB, loaded in \d+\.\d ms by each call$/),
    expect.stringMatching(/^Operator {2}webhooks events list/),
    `Listening on ${url}`,
  ]);
});

test.each<[string, string, unknown, RegExp]>([
  [
    "an agent turn ends in its reply",
    "ci",
    { job: "lint" },
    /ci → builds lint failed → turn [\d.]+ m?s → not sent: no channel is configured: set channels {2}[\d.]+ m?s\n +\[echo: .*\] lint failed\n +log: checking lint\n/,
  ],
  [
    "a skipped request",
    "ci",
    { job: "skip" },
    /ci → builds → skipped: the transform gave no action {1,2}[\d.]+ m?s\n +log: checking skip\n/,
  ],
  ["a wake", "wake", { text: "x", mode: "next-heartbeat" }, /wake x → wake \(next-heartbeat\) {1,2}[\d.]+ m?s\n/],
  [
    "a transform that throws, with its log, its place and the command that shows more",
    "ci",
    {},
    /ci → builds → 500: .* {1,2}[\d.]+ m?s\n +log: checking undefined\n +Error: the payload has no job\n +at .*ci\.ts:3:27.*\n[^]*? webhooks events show \S{36}\n/,
  ],
  ["a refused payload", "wake", {}, /wake → 400: .*text is required.* {1,2}[\d.]+ m?s\n/],
  ["an unknown hook", "nope", {}, /nope → 404: .* {1,2}[\d.]+ m?s\n/],
])("%s", async (_, hook, payload, line) => {
  await client.post(hook, payload);
  await expect.poll(() => terminal.shown()).toMatch(line);
});

test("a wrong token, and a path that is no hook", async () => {
  await fetch(`${url}/hooks/ci`, { method: "POST", body: "{}", headers: { authorization: "Bearer wrong" } });
  await expect.poll(() => terminal.shown()).toMatch(/POST \/hooks\/ci → 401: .* {1,2}[\d.]+ m?s\n/);
  await fetch(`${url}/hook/ci\u202e`, { method: "POST", body: "{}" });
  await expect
    .poll(() => terminal.shown())
    .toMatch(/POST \/hook\/ci%E2%80%AE → 404: There is no such path\. {1,2}[\d.]+ m?s\n/);
});

test("a replay, and the answer to a known idempotency key", async () => {
  const headers = { "idempotency-key": "one" };
  const { body } = await client.post("ci", { job: "once" }, headers);
  await client.settled(body.eventId);
  await client.post("ci", { job: "once" }, headers);
  await expect.poll(() => terminal.shown()).toMatch(/POST \/hooks\/ci → 202, the answer to an earlier request/);
  await fetch(`${url}/api/events/${body.eventId}/replay`, {
    method: "POST",
    headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
  });
  await expect.poll(() => terminal.shown()).toMatch(/replay of ci → builds once failed → turn .*\n +.*once failed/);
});

test("each request is shown once, and no text of a payload can write to the terminal", async () => {
  await client.post("agent", { message: "\u001b[2J first\nsecond" });
  await expect.poll(() => terminal.shown()).toMatch(/agent .* first → turn .* → not sent: .*\n +.* first\n +second\n/);
  expect(terminal.shown()).toContain("\\u001b[2J");
  expect(terminal.shown().match(/lint failed$/gm)).toHaveLength(1);
});
