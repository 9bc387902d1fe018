import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runWebhooks } from "./support/cli.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";

let model: Server;
/** The status of the model's answers. 400 is a permanent failure. */
let modelStatus: number;
let service: Service;

beforeEach(async () => {
  modelStatus = 400;
  model = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(modelStatus, { "content-type": "application/json" });
      response.end(JSON.stringify(modelStatus === 200 ? COMPLETION : { error: { message: "no such tool" } }));
    });
  });
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`;
  service = await startService({
    config: {
      agents: {
        providers: { local: { kind: "openai-compatible", baseUrl } },
        defaults: { model: "local/x" },
      },
      channels: { imessage: { command: ["no-imsg"] } },
    },
  });
});
afterEach(async () => {
  await service.close();
  model.closeAllConnections();
  model.close();
});

describe("a run that failed permanently", () => {
  test("is listed, and retried once the cause is fixed", async () => {
    const { eventId, runId, sessionKey } = await failRun();
    expect(await service.api(`/api/sessions/${sessionKey}`)).toMatchObject({ key: sessionKey, entries: [] });
    expect(await service.api("/api/dead-letters")).toEqual({
      deadLetters: [
        {
          id: runId,
          kind: "run",
          eventId,
          hook: "agent",
          error: expect.stringContaining("local answered 400"),
          group: "local answered 400: no such tool",
          attempts: 1,
          at: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      ],
    });

    modelStatus = 200;
    expect(await call("POST", `/api/dead-letters/${runId}/retry`)).toEqual({ status: 200, ok: true });
    expect(await service.settled(eventId)).toMatchObject({
      status: "done",
      runs: [{ id: runId, state: "done", reply: "fixed", attempts: 1 }],
    });
    expect(await service.api("/api/dead-letters")).toEqual({ deadLetters: [] });
  });

  test("can be dropped: it leaves the list, and its event is canceled", async () => {
    const { eventId, runId } = await failRun();
    expect(await call("DELETE", `/api/dead-letters/${runId}`)).toEqual({ status: 200, ok: true });
    expect(await service.api("/api/dead-letters")).toEqual({ deadLetters: [] });
    expect(await service.api(`/api/events/${eventId}`)).toMatchObject({
      status: "canceled",
      outcome: expect.stringMatching(/^turn canceled: /),
      runs: [{ id: runId, state: "canceled" }],
    });
    expect(await service.api("/api/runs?state=canceled")).toMatchObject({ runs: [{ id: runId }] });
    expect(await call("DELETE", `/api/dead-letters/${runId}`)).toEqual({ status: 404, ok: false });
    expect(await call("POST", `/api/dead-letters/${runId}/retry`)).toEqual({ status: 404, ok: false });
  });
});

test("a failed delivery can be retried, fails again, and can be dropped", async () => {
  modelStatus = 200;
  const { body } = await service.post("agent", { message: "x", channel: "imessage", to: "+15551234567" });
  expect(await service.settled(body.eventId)).toMatchObject({ status: "failed" });
  const { deadLetters } = await service.api("/api/dead-letters");
  expect(deadLetters).toMatchObject([
    {
      kind: "delivery",
      eventId: body.eventId,
      hook: "agent",
      error: expect.stringContaining("no-imsg could not be started"),
    },
  ]);

  const path = `/api/dead-letters/${deadLetters[0].id}`;
  expect(await call("POST", `${path}/retry`)).toEqual({ status: 200, ok: true });
  // Its channel still fails, so it is dead-lettered again.
  await expect.poll(async () => (await service.api("/api/dead-letters")).deadLetters).toHaveLength(1);
  expect(await call("DELETE", path)).toEqual({ status: 200, ok: true });
  expect(await service.api(`/api/events/${body.eventId}`)).toMatchObject({
    status: "canceled",
    outcome: expect.stringContaining("imessage +15551234567 canceled: "),
  });
});

test("failures of a kind are a group, and an action takes those that its preview counted", async () => {
  for (let count = 0; count < 3; count++) await failRun();
  const { groups, countedTo } = await service.api("/api/dead-letters/groups");
  expect(groups).toEqual([
    {
      kind: "run",
      hook: "agent",
      group: "local answered 400: no such tool",
      error: "local answered 400: no such tool",
      count: 3,
      firstAt: expect.any(String),
      lastAt: expect.any(String),
    },
  ]);
  expect(countedTo).toBe(10_000);
  const [{ kind, hook, group }] = groups;
  const query = new URLSearchParams({ kind, hook, group }).toString();
  const { deadLetters } = await service.api(`/api/dead-letters?${query}`);
  expect(deadLetters).toHaveLength(3);

  const preview = await change("retry", { kind, hook, group });
  expect(preview).toMatchObject({ ok: true, count: 3 });
  expect(preview.changed).toBeUndefined();
  expect((await service.api("/api/dead-letters")).deadLetters).toHaveLength(3);
  await failRun();
  modelStatus = 200;
  expect(await change("retry", { kind, hook, group, token: preview.token })).toMatchObject({ count: 3, changed: 3 });
  // A later failure than the preview is left alone.
  expect((await service.api("/api/dead-letters")).deadLetters).toHaveLength(1);
  // A token acts once.
  expect(await change("retry", { kind, hook, group, token: preview.token })).toMatchObject({ count: 3, changed: 3 });
  const { token } = await change("drop", {});
  expect(await change("drop", { token })).toMatchObject({ changed: 1 });
  expect(await change("drop", { token: "!" })).toMatchObject({ ok: false, code: "invalid_payload" });
  expect(await change("drop", { groups: "x" })).toMatchObject({ ok: false, code: "invalid_payload" });
});

test("webhooks dead-letters counts and retries a group", async () => {
  for (let count = 0; count < 3; count++) await failRun();
  const run = async (...args: string[]) =>
    JSON.parse((await runWebhooks(service.folder, "dead-letters", ...args, "--url", service.url, "--json")).stdout);
  const [group, ...others] = await run("groups");
  expect([group, others]).toEqual([expect.objectContaining({ count: 3, hook: "agent", kind: "run" }), []]);
  const table = await runWebhooks(service.folder, "dead-letters", "groups", "--url", service.url);
  expect(table.stdout.split("\n")[1]).toMatch(
    new RegExp(`^${group.id} +3 +run +agent +\\S+Z +\\S+Z +local answered 400`),
  );
  expect(await run("retry", "--group", group.id, "--dry-run")).toEqual({ count: 3 });
  expect((await service.api("/api/dead-letters")).deadLetters).toHaveLength(3);
  modelStatus = 200;
  expect(await run("retry", "--group", `failed:${group.id}0123`)).toEqual({ count: 3, retried: 3 });
  expect(await run("groups")).toEqual([]);
  expect(await run("drop", "--group", group.id)).toMatchObject({
    ok: false,
    error: expect.stringContaining(`No group of dead letters has the id ${group.id}.`),
  });
});

async function change(
  action: string,
  body: { token?: string; [name: string]: unknown },
): Promise<{ token?: string; changed?: number }> {
  const headers = { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" };
  const { token, ...filter } = body;
  const choice = JSON.stringify({ action, filter, token });
  const response = await fetch(`${service.url}/api/bulk`, { method: "POST", headers, body: choice });
  return Object((await response.json()) ?? {});
}

async function failRun(): Promise<{ eventId: string; runId: string; sessionKey: string }> {
  const { body } = await service.post("agent", { message: "x", deliver: false });
  expect(await service.settled(body.eventId)).toMatchObject({ status: "failed" });
  return body;
}

/** Has a content type but no body, like many clients. */
async function call(method: string, path: string): Promise<{ status: number; ok: boolean }> {
  const headers = { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" };
  const response = await fetch(service.url + path, { method, headers });
  const body = (await response.json()) as { ok: boolean };
  return { status: response.status, ok: body.ok };
}

const COMPLETION = {
  id: "1",
  object: "chat.completion",
  created: 0,
  model: "x",
  choices: [{ index: 0, message: { role: "assistant", content: "fixed" }, finish_reason: "stop" }],
};
