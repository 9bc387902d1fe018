import { sign } from "@octokit/webhooks-methods";
import { afterAll, beforeAll, expect, test } from "vitest";
import { githubPayload } from "../support/github.ts";
import { type Service, startService } from "../support/service.ts";

const SECRETS = { github: "the-secret-of-one-organization", work: "the-secret-of-another-one" };

let service: Service;
beforeAll(async () => {
  const common = { deliver: false, wakeMode: "next-heartbeat" };
  const presets = [
    { use: "github", with: { ...common, secret: SECRETS.github } },
    { use: "github", with: { ...common, secret: SECRETS.work, path: "work" } },
  ];
  service = await startService({ config: { hooks: { presets } } });
});
afterAll(() => service.close());

async function post(hook: keyof typeof SECRETS, secret: string, event: string, delivery: string): Promise<Response> {
  const body = JSON.stringify(githubPayload(event, { action: event === "star" ? "created" : "opened" }));
  return fetch(`${service.url}/hooks/${hook}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-github-event": event,
      "x-github-delivery": delivery,
      "x-hub-signature-256": await sign(secret, body),
    },
    body,
  });
}

test("one preset under two paths is two hooks, each with its own secret and credential", async () => {
  for (const hook of ["github", "work"] as const) {
    const response = await post(hook, SECRETS[hook], "issues", "d1");
    expect(response.status).toBe(202);
    const { eventId, sessionKey } = JSON.parse(await response.text());
    expect(sessionKey).toMatch(/^hook:github:Codertocat\/Hello-World#\d+$/);
    const event = await service.api(`/api/events/${eventId}`);
    expect(event).toMatchObject({ credential: `auth:${hook}`, mapping: `${hook}-issue`, event: "issues.opened" });
  }
  expect((await post("work", SECRETS.github, "issues", "d2")).status).toBe(401);
});

test("a repeated delivery runs nothing", async () => {
  expect((await post("github", SECRETS.github, "issues", "d3")).headers.has("idempotency-replayed")).toBe(false);
  expect((await post("github", SECRETS.github, "issues", "d3")).headers.get("idempotency-replayed")).toBe("true");
});

test("what nobody acts on is answered 204 and shown with the reason", async () => {
  expect((await post("github", SECRETS.github, "star", "d4")).status).toBe(204);
  const { events } = await service.api("/api/events?status=skipped");
  expect(events).toMatchObject([
    { hook: "github", event: "star.created", reason: "the event star.created is not one of events" },
  ]);
});
