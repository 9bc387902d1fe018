import { createHmac } from "node:crypto";
import { sign } from "@octokit/webhooks-methods";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MappingInput, UserConfig } from "../src/core/config/schema/generated.ts";
import { githubPayload } from "./support/vendors/github.ts";
import { type Service, startService } from "./support/service.ts";

const [OLD, NEW, OTHER] = ["the-old-github-secret", "the-new-github-secret", "the-secret-of-another-org"];
const auth = { scheme: "github", secret: [OLD, NEW] };
const common = { deliver: false, wakeMode: "next-heartbeat" } satisfies MappingInput;
const HOOKS = {
  mappings: [
    {
      ...common,
      id: "pushes",
      match: { path: "github", headers: { "x-github-event": "push" } },
      auth,
      messageTemplate: "push to {{ref}} {{headers.x-hub-signature-256}}",
      dedupe: "{{headers.x-github-delivery}}",
    },
    {
      ...common,
      id: "issues",
      match: { path: "github", headers: { "x-github-event": "issues" } },
      auth,
      messageTemplate: "issue {{issue.number}}",
    },
    { ...common, id: "other", match: { path: "github" }, auth: { ...auth, secret: OTHER }, messageTemplate: "other" },
    { ...common, id: "mixed-signed", match: { path: "mixed" }, auth, messageTemplate: "signed" },
    { ...common, id: "mixed-token", match: { path: "mixed" }, messageTemplate: "token" },
  ],
} satisfies UserConfig["hooks"];

let service: Service;
beforeEach(async () => {
  service = await startService({ config: { hooks: HOOKS } });
});
afterEach(() => service.close());

/** Posts as GitHub does: the payload's exact bytes, signed with the secret. */
async function post(hook: string, secret: string, headers: Record<string, string> = {}, payload: object = { n: 1 }) {
  // White space and order that re-stringified JSON would lose.
  const body = JSON.stringify(payload, undefined, 1);
  const response = await fetch(`${service.url}/hooks/${hook}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-hub-signature-256": await sign(secret, body), ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, answer: text === "" ? undefined : JSON.parse(text) };
}

async function newestEvent() {
  const { events } = await service.api("/api/events?limit=1");
  return service.api(`/api/events/${events[0].id}`);
}

test("GitHub's signature lets its events in, and all mappings of the path with this auth can match", async () => {
  const push = await post("github", NEW, { "x-github-event": "push" }, githubPayload("push"));
  expect(push.status).toBe(202);
  const issue = await post("github", OLD, { "x-github-event": "issues" }, { issue: { number: 7 } });
  expect(issue.status).toBe(202);
  expect(await service.settled(push.answer.eventId)).toMatchObject({ mapping: "pushes", credential: "auth:pushes" });
  expect(await service.settled(issue.answer.eventId)).toMatchObject({
    mapping: "issues",
    credential: "auth:pushes",
    runs: [{ action: { message: "issue 7" } }],
  });
});

test("each secret has its own mappings", async () => {
  expect((await post("github", OTHER, { "x-github-event": "push" })).status).toBe(202);
  expect(await newestEvent()).toMatchObject({ mapping: "other", credential: "auth:other" });
  expect((await post("github", OLD, { "x-github-event": "star" })).status).toBe(204);
  expect(await newestEvent()).toMatchObject({
    status: "skipped",
    credential: "auth:pushes",
    reason: expect.stringContaining("pushes (match.headers.x-github-event), issues (match.headers.x-github-event)."),
  });
});

test("a path can take signatures and tokens, each for its own mapping", async () => {
  expect((await post("mixed", OLD)).status).toBe(202);
  expect(await newestEvent()).toMatchObject({ mapping: "mixed-signed" });
  expect((await service.post("mixed", {})).status).toBe(202);
  expect(await newestEvent()).toMatchObject({ mapping: "mixed-token" });
  expect((await service.post("github", {})).status).toBe(401);
  expect((await post("mixed", "another secret")).status).toBe(401);
});

test("a dry run takes the credential for granted", async () => {
  expect(await service.try("github", {}, { "x-github-event": "push" })).toMatchObject({ ok: true, mapping: "pushes" });
  expect(await service.try("mixed", {})).toMatchObject({ mapping: "mixed-signed" });
});

test("a preset takes the secret, and without it the hook token", async () => {
  await service.reload({ hooks: { presets: [{ use: "github", with: { secret: NEW } }] } });
  const headers = { "x-github-event": "push", "x-github-delivery": "d-1" };
  expect((await post("github", NEW, headers, githubPayload("push"))).status).toBeOneOf([202, 204]);
  expect(await newestEvent()).toMatchObject({ hook: "github", credential: "auth:github" });
  expect((await service.post("github", githubPayload("push"), headers)).status).toBe(401);
  await service.reload({ hooks: { presets: ["github"] } });
  expect((await service.post("github", githubPayload("push"), headers)).status).toBeOneOf([202, 204]);
  expect((await post("github", NEW, headers, githubPayload("push"))).status).toBe(401);
});

test("a replay keeps the credential", async () => {
  const { answer } = await post("github", OLD, { "x-github-event": "push" });
  const token = service.hookline.runtime().config.gateway.token;
  const headers = { authorization: `Bearer ${token}` };
  const replayed = await fetch(`${service.url}/api/events/${answer.eventId}/replay`, { method: "POST", headers });
  expect(replayed.status).toBe(202);
  expect(await newestEvent()).toMatchObject({
    replayOf: answer.eventId,
    mapping: "pushes",
    credential: "auth:pushes",
  });
});

test("a ping is a handshake: answered, and recorded without an action", async () => {
  expect(await post("github", OLD, { "x-github-event": "ping" })).toEqual({ status: 200, answer: {} });
  expect(await newestEvent()).toMatchObject({ status: "skipped", hook: "github", reason: "handshake" });
});

describe("a secret in the body is shown to nobody", () => {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac("sha256", OLD).update(`${timestamp}t-1`).digest("hex");
  const signed = { timestamp, token: "t-1", signature };

  test.each([
    ["graph", "application/json", JSON.stringify({ value: [{ clientState: OLD, id: 7 }] }), OLD],
    ["mailgun", "application/json", JSON.stringify({ signature: signed, id: 7 }), signature],
    ["mailgun", "application/x-www-form-urlencoded", new URLSearchParams({ ...signed, id: "7" }).toString(), signature],
  ])("%s, %s", async (scheme, type, body, secret) => {
    const mapping = {
      ...common,
      match: { path: scheme },
      auth: { scheme, secret: OLD },
      messageTemplate: "{{json payload}}",
    };
    await service.reload({ hooks: { mappings: [mapping] } });
    const headers = { "content-type": type };
    const { status } = await fetch(`${service.url}/hooks/${scheme}`, { method: "POST", headers, body });
    expect(status).toBeOneOf([200, 202]);
    const event = JSON.stringify(await newestEvent());
    expect(event).toContain("[redacted]");
    expect(event).toContain("id");
    expect(event).not.toContain(secret);
  });
});

describe("rotation", () => {
  const withSecret = (secret: string[]): UserConfig["hooks"] => ({
    mappings: HOOKS.mappings.map((mapping) =>
      "auth" in mapping ? { ...mapping, auth: { ...auth, secret } } : mapping,
    ),
  });

  test("keeps the scope of idempotency keys", async () => {
    const headers = { "x-github-event": "push", "x-github-delivery": "d-1" };
    const first = await post("github", OLD, headers);
    await service.reload({ hooks: withSecret([NEW]) });
    expect(await post("github", NEW, headers)).toEqual(first);
    expect((await post("github", OLD, headers)).status).toBe(401);
  });

  test("under load refuses nothing that should pass", async () => {
    const reloads = { done: false };
    const statuses = new Map<number, number>();
    const senders = [OLD, NEW].map(async (secret) => {
      while (!reloads.done) {
        const { status } = await post("github", secret, { "x-github-event": "issues" });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    for (let reload = 0; reload < 10; reload++) {
      await service.reload({ hooks: withSecret(reload % 2 === 0 ? [NEW, OLD] : [OLD, NEW]) });
    }
    reloads.done = true;
    await Promise.all(senders);
    expect([...statuses.keys()]).toEqual([202]);
  });
});
