import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { HOOK_TOKEN, type Service, startService } from "./support/service.ts";

let model: Server;
let service: Service;
let agents: UserConfig["agents"];

beforeEach(async () => {
  // Accepts every turn and answers none.
  model = createServer((request) => request.resume());
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`;
  agents = { providers: { local: { kind: "openai-compatible", baseUrl } }, defaults: { model: "local/x" } };
  service = await startService({ config: { hooks: { maxPending: 2 }, agents } });
});
afterEach(async () => {
  model.closeAllConnections();
  model.close();
  await service.close();
});

test("too many unfinished runs: 503 with Retry-After, and nothing is stored", async () => {
  const accepted = [await post(), await post()];
  expect(accepted.map(({ status }) => status)).toEqual([202, 202]);
  await expect.poll(async () => (await post()).status).toBe(503);
  const refused = await post();
  expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
  expect(refused.body).toMatchObject({ ok: false, code: "overloaded" });
  const { queue } = await service.api("/api/status");
  const { runs } = await service.api("/api/runs");
  expect(runs).toHaveLength(queue.pendingRuns);
});

test("while a turn finishes before the stop, hooks and probes get 503 with Retry-After", async () => {
  await post();
  await expect.poll(async () => (await service.api("/api/runs")).runs).toMatchObject([{ state: "running" }]);
  const closing = service.hookline.close();
  const answers = await Promise.all([post(), post(), fetch(`${service.url}/readyz`)]);
  expect(answers.map(({ status, headers }) => [status, headers.get("retry-after")])).toEqual(
    answers.map(() => [503, "5"]),
  );
  model.closeAllConnections();
  await closing;
  await expect(post()).rejects.toThrow("fetch failed");
});

test("a journal locked by another process: 503 with Retry-After, and 2xx again afterward", async () => {
  const other = new DatabaseSync(path.join(service.folder, ".webhooks/journal.db"));
  other.exec("BEGIN IMMEDIATE");
  const wake = { text: "x", mode: "next-heartbeat" };
  const refused = await service.post("wake", wake);
  expect(refused).toMatchObject({ status: 503, body: { ok: false, code: "journal_unavailable" } });
  expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
  other.exec("ROLLBACK");
  other.close();
  expect((await service.post("wake", wake)).status).toBe(200);
  expect((await service.api("/api/sessions/main")).entries).toHaveLength(1);
});

test("a model that never answers: the turn times out permanently, and the main session gets a summary", async () => {
  const { body } = await post({ timeoutSeconds: 0.2, name: "Slow" });
  const event = await service.settled(body.eventId);
  expect(event).toMatchObject({ status: "failed", runs: [{ state: "failed", attempts: 1 }] });
  const { entries } = await service.api("/api/sessions/main");
  expect(entries.at(-1).text).toMatch(/---\nHook Slow \(error\): .*timed out after 0\.2 s\n<<<END_/);
});

function post(more: object = {}) {
  return service.post("agent", { message: "x", deliver: false, wakeMode: "next-heartbeat", ...more });
}

test("the backlog is shared: a sender with as many waiting runs as there is room left is refused before the others", async () => {
  const secrets = { a: "the-secret-of-a-0123456789", b: "the-secret-of-b-0123456789" };
  const ci = "the-token-for-ci-0123456789";
  const ignore = [{ value: "{{skip}}", is: "yes", reason: "it asks only" }];
  const toMapping = ([hook, secret]: [string, string]) => ({
    match: { path: hook },
    messageTemplate: "x",
    deliver: false,
    ignore,
    auth: { scheme: "token", secret },
  });
  const shared = await startService({
    config: {
      hooks: {
        maxPending: 10,
        tokens: { ci: { secret: ci } },
        mappings: [...Object.entries(secrets).map(toMapping), { match: { path: "x" }, messageTemplate: "x", ignore }],
      },
      agents,
    },
  });
  /** A run, or only the question whether there is room for one: 204. */
  const send = async (hook: string, token: string, skip?: "yes"): Promise<number> =>
    (await shared.post(hook, { skip }, { authorization: `Bearer ${token}` })).status;

  await send("x", HOOK_TOKEN);
  for (let runs = 0; runs < 5; runs++) expect(await send("a", secrets.a)).toBe(202);
  // Five of six, and room for four.
  await expect.poll(() => send("a", secrets.a, "yes"), { interval: 50 }).toBe(503);
  // One of the tokens, which count together: two of seven, then three of eight.
  for (const token of [HOOK_TOKEN, ci]) expect(await send("x", token)).toBe(202);
  for (const token of [HOOK_TOKEN, ci]) expect(await send("x", token, "yes")).toBe(503);
  expect(await send("b", secrets.b)).toBe(202);
  // One of nine, and room for one.
  expect(await send("b", secrets.b, "yes")).toBe(503);
  model.closeAllConnections();
  await shared.close();
});
