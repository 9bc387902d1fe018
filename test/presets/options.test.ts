/** The additions and replacements of a use of a preset, as its sender sees them. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Service, startService } from "../support/service.ts";

const sample = path.join(import.meta.dirname, "../../presets/github/samples/pull-request-opened.json");
const { pull_request: pullRequest, ...rest } = JSON.parse(readFileSync(sample, "utf8"));

let service: Service;
beforeAll(async () => {
  const options = {
    where: { properties: { repository: { properties: { full_name: { const: "acme/shop" } } } } },
    ignore: { drafts: false, rules: [{ value: "{{pull_request.title}}", is: "WIP*", reason: "it is not ready" }] },
    dedupe: "{{headers.x-github-delivery}}/{{pull_request.number}}",
    wakeMode: "{{#unless pull_request.draft}}now{{else}}next-heartbeat{{/unless}}",
    maxBodyBytes: 50_000,
  };
  service = await startService({ config: { hooks: { presets: [{ use: "github", with: options }] } } });
});
afterAll(() => service.close());

/** Posts the sample with changes of its pull request and of the fields around it. */
function post(change: object, around: object = {}, delivery: string = crypto.randomUUID()) {
  const headers = { "x-github-event": "pull_request", "x-github-delivery": delivery };
  return service.post("github", { ...rest, ...around, pull_request: { ...pullRequest, ...change } }, headers);
}

async function newestReason(): Promise<string> {
  return (await service.api("/api/events?limit=1")).events[0].reason;
}

test("where and the rules of ignore skip further events, beside the preset's own", async () => {
  expect((await post({})).status).toBe(202);
  expect((await post({}, { repository: { ...rest.repository, full_name: "acme/other" } })).status).toBe(204);
  expect(await newestReason()).toContain("match.where");
  expect((await post({ title: "WIP: try" })).status).toBe(204);
  expect(await newestReason()).toBe("it is not ready (WIP: try)");
  expect((await post({}, { sender: { login: "helper[bot]", type: "Bot" } })).status).toBe(204);
  expect(await newestReason()).toMatch(/^a bot did it/);
});

test("wakeMode, dedupe and maxBodyBytes are the given ones", async () => {
  const { body } = await post({ draft: true });
  const [{ action }] = (await service.api(`/api/events/${body.eventId}`)).runs;
  expect(action.wakeMode).toBe("next-heartbeat");
  const [first, other, repeat] = [
    await post({}, {}, "one"),
    await post({ number: 43 }, {}, "one"),
    await post({}, {}, "one"),
  ];
  expect(other.body.eventId).not.toBe(first.body.eventId);
  expect(repeat.body.eventId).toBe(first.body.eventId);
  expect((await post({ body: "x".repeat(60_000) })).status).toBe(413);
});
