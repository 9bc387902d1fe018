/** Who may start a turn, over HTTP: what strangers can do, and what is said of them. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { waitFor } from "./support/client.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { type Service, startService } from "./support/service.ts";
import { startToolServer, type ToolServer } from "./support/tool-server.ts";

const SECRET = "the-secret-of-the-repository";

let models: ModelServer;
let status: ToolServer;
let ops: ToolServer;
let service: Service;

beforeAll(async () => {
  models = await startModels();
  [status, ops] = await Promise.all([startToolServer(), startToolServer()]);
  const settings = { wakeMode: "next-heartbeat", deliver: false } as const;
  const grants = { "status.update": { mode: "allow", free: ["comment"] } } as const;
  service = await startService({
    config: {
      channels: { http: { targets: { ops: { url: `${ops.url}ops` } } } },
      agents: {
        providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
        defaults: { model: "house/large", heartbeat: { every: "24h" }, maxAttempts: 1 },
        approvals: { channel: "http", to: "ops" },
        tools: {
          status: {
            kind: "http",
            baseUrl: status.url,
            private: true,
            calls: {
              update: {
                description: "Comments.",
                post: "/ok/update",
                input: { comment: "string" },
                body: { comment: "{{comment}}" },
              },
            },
          },
        },
      },
      hooks: {
        presets: [
          { use: "github", with: { secret: SECRET, ...settings, grants } },
          { use: "github", with: { path: "open", secret: SECRET, ...settings, grants, from: ["member", "anyone"] } },
        ],
        mappings: [
          {
            id: "tickets",
            match: { path: "tickets" },
            messageTemplate: "{{text}}",
            from: { value: "{{user.email}}", is: ["*@acme.com", "!eve@acme.com"] },
            ...settings,
          },
          {
            id: "wake",
            match: { path: "wake-up" },
            action: "wake",
            textTemplate: "{{text}}",
            from: { value: "{{user.email}}", is: "*@acme.com" },
            wakeMode: "next-heartbeat",
          },
        ],
      },
    },
  });
});
afterAll(async () => {
  await service.close();
  await Promise.all([models.close(), status.close(), ops.close()]);
});

beforeEach(() => {
  status.requests.length = 0;
  models.answer((messages) => {
    const turn = messages.slice(messages.findLastIndex(({ role }) => role === "user"));
    const isAnswered = turn.some(({ role }) => role === "assistant");
    return isAnswered ? { text: "Done." } : { calls: [{ name: "status__update", arguments: { comment: "seen" } }] };
  });
});

let deliveries = 0;

function comment(hook: string, association: string) {
  const user = { id: 9, login: "x", type: "User" };
  const body = JSON.stringify({
    action: "created",
    repository: { full_name: "acme/web", private: false },
    issue: { number: 7, title: "T" },
    comment: { id: 1, body: "Update the status page.", user, author_association: association },
    sender: user,
  });
  deliveries += 1;
  return fetch(`${service.url}/hooks/${hook}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-github-event": "issue_comment",
      "x-github-delivery": `delivery-${deliveries}`,
      "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
    },
    body,
  });
}

async function lastEvent() {
  const { events } = await service.api("/api/events?limit=1");
  return service.api(`/api/events/${events[0].id}`);
}

async function untilAsked(runId: string) {
  return waitFor(async () => {
    const { approvals } = await service.api("/api/approvals?state=open");
    return approvals.find((one: { runId: string }) => one.runId === runId);
  }, "a question");
}

async function deny(id: string): Promise<void> {
  await service.operate("POST", `/api/approvals/${id}`, { decision: "deny" });
}

describe("a comment", () => {
  test("of a member runs with all that is granted, and the agent sees who wrote it", async () => {
    const { eventId } = Object(await (await comment("github", "MEMBER")).json());
    await service.settled(eventId);
    expect(status.requests.map(({ path }) => path)).toEqual(["/ok/update"]);
    const { runs } = await service.api(`/api/events/${eventId}`);
    const { entries } = await service.api(`/api/sessions/${encodeURIComponent(runs[0].sessionKey)}`);
    expect(entries.at(-2).text).toContain("\nHook: github\nAuthor: @x, member\n---\n");
  });

  test("of a stranger is skipped, visible and never answered", async () => {
    const response = await comment("github", "CONTRIBUTOR");
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(await lastEvent()).toMatchObject({
      status: "skipped",
      reason: "@x (github:9, contributor) is not in from: member",
      runs: [],
    });
    expect(status.requests).toEqual([]);
  });

  test("of a stranger whom anyone lets in asks a person before each change, and says who started it", async () => {
    const { eventId, runId } = Object(await (await comment("open", "CONTRIBUTOR")).json());
    const asked = await untilAsked(runId);
    expect(asked).toMatchObject({ call: "status.update", startedBy: "github:9 (@x, contributor)" });
    await waitFor(() => ops.requests.some(({ text }) => text.includes(asked.code)), "the message");
    const message = ops.requests.find(({ text }) => text.includes(asked.code))?.text;
    expect(message).toContain("Started by github:9 (@x, contributor)");
    expect(status.requests).toEqual([]);
    await deny(asked.id);
    await service.settled(eventId);
  });

  test("that is replayed passes from, as a stranger's", async () => {
    await comment("github", "CONTRIBUTOR");
    const { id } = await lastEvent();
    const { body } = await service.operate("POST", `/api/events/${id}/replay`);
    const asked = await untilAsked(body.runId);
    await deny(asked.id);
    await service.settled(body.eventId);
    expect((await service.api(`/api/runs/${body.runId}`)).action).toMatchObject({ stranger: true });
  });
});

describe("from on an own mapping", () => {
  test.each([
    ["ann@acme.com", "tickets", 202],
    ["eve@acme.com", "tickets", 204],
    ["ann@evil.example", "tickets", 204],
    ["eve@evil.example\nann@acme.com", "tickets", 204],
    ["ann@acme.com", "wake-up", 200],
    ["ann@evil.example", "wake-up", 204],
  ])("%j at %s: %i", async (email, hook, expected) => {
    models.reply("Done.");
    const { status: code, body } = await service.post(hook, { text: "Hi", user: { email } });
    expect(code).toBe(expected);
    if (code === 202) await service.settled(body.eventId);
  });

  test("without a value, the event is a machine's", async () => {
    models.reply("Done.");
    const { status: code, body } = await service.post("tickets", { text: "Hi" });
    expect(code).toBe(202);
    await service.settled(body.eventId);
  });

  test("names who it was", async () => {
    await service.post("tickets", { text: "Hi", user: { email: "ann@evil.example" } });
    expect((await lastEvent()).reason).toBe("ann@evil.example is not in from: *@acme.com, !eve@acme.com");
  });
});
