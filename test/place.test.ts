/** Events that are elsewhere than `place` says are skipped, before anything else of their mapping. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runWebhooks } from "./support/cli.ts";
import { findProblems } from "./support/config.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";

const source = { channel: "github", to: "{{repo}}#{{number}}" };
const plain = { messageTemplate: "{{text}}", agent: "none", deliver: false, wakeMode: "next-heartbeat" } as const;
const mappings = [
  {
    ...plain,
    id: "m",
    match: { path: "m" },
    source,
    place: ["acme", "!acme/secret"],
    dedupe: "{{id}}",
    event: "{{kind}}",
  },
  {
    ...plain,
    id: "each",
    match: { path: "each" },
    forEach: "items",
    source: { channel: "github", to: "{{item.repo}}#{{item.number}}" },
    place: "acme/web",
    messageTemplate: "{{item.repo}}",
  },
  {
    ...plain,
    id: "lines",
    match: { path: "lines" },
    source: { channel: "github", to: "{{first}}\n{{second}}" },
    place: "acme/web",
    channel: "source",
    deliver: true,
  },
  { id: "t", match: { path: "t" }, source, place: "acme/web", transform: { module: "t.ts" }, deliver: false },
  { ...plain, id: "free", match: { path: "free" }, source },
];
const files = { "transforms/t.ts": "export default () => { throw new Error('it ran'); };" };

const channels = { github: { token: "t", baseUrl: "http://127.0.0.1:9", dryRun: true, allow: ["*"] } };

let service: Service;
beforeAll(async () => {
  const presets = [{ use: "github", with: { place: "acme/web" } }];
  service = await startService({ config: { hooks: { presets, mappings }, channels }, files });
});
afterAll(() => service.close());

async function post(hook: string, payload: object, headers: Record<string, string> = {}) {
  const { status } = await service.post(hook, payload, headers);
  const [event] = (await service.api(`/api/events?hook=${hook}&limit=1`)).events;
  return { status, event };
}

const ann = { id: 1, login: "ann", type: "User" };

function pullRequest(name: string): object {
  const head = { ref: "fix", sha: "a".repeat(40), repo: { full_name: "eve/web", fork: true } };
  const base = { ref: "main", repo: { full_name: name } };
  const pull = { id: Math.random(), number: 1, title: "Fix", user: ann, author_association: "NONE", head, base };
  return { action: "opened", repository: { full_name: name, private: false }, pull_request: pull, sender: ann };
}

function discussion(name: string): object {
  const own = { number: 4, title: "Why?", user: ann, author_association: "NONE" };
  return { action: "created", repository: { full_name: name, private: false }, discussion: own, sender: ann };
}

test.each([
  ["another place", { repo: "acme/secret", number: 1 }, "it is about acme/secret, which is not in place"],
  ["a place above", { repo: "other/web", number: 1 }, "it is about other/web, which is not in place"],
  ["another place without its number", { repo: "acme/secret" }, "it is about acme/secret, which is not in place"],
  ["no place", { number: 1 }, "it names no place, so it is not in place"],
  ["a way out", { repo: "acme/web/../secret", number: 1 }, "it is about acme/web/../secret, which is not in place"],
  ["two lines in one value", { repo: "acme/web\nacme/x" }, "it is about acme/web acme/x, which is not in place"],
])("%s: 204, skipped with the reason", async (_name, payload, reason) => {
  const { status, event } = await post("m", payload);
  expect(status).toBe(204);
  expect(event).toMatchObject({ status: "skipped", reason, mapping: "m" });
});

test.each<[string, object, string, string | undefined]>([
  ["a pull request from a fork", pullRequest("acme/web"), "pull_request", undefined],
  ["a webhook of the fork", pullRequest("eve/web"), "pull_request", "eve/web"],
  ["another repository of the organization", pullRequest("acme/secret"), "pull_request", "acme/secret"],
  ["a path out of the repository", pullRequest("acme/web/../secret"), "pull_request", "acme/web/../secret"],
  ["an encoded path", pullRequest("acme/web%2f..%2fsecret"), "pull_request", "acme/web%2f..%2fsecret"],
  ["a renamed repository", pullRequest("acme/shop"), "pull_request", "acme/shop"],
  ["a discussion elsewhere", discussion("acme/secret"), "discussion", "acme/secret"],
])("GitHub: %s", async (_name, payload, event, elsewhere) => {
  const sent = await post("github", payload, { "x-github-event": event });
  if (elsewhere === undefined) return expect(sent.status).toBe(202);
  const reason = `it is about ${elsewhere}, which is not in place`;
  expect(sent).toMatchObject({ status: 204, event: { status: "skipped", reason } });
});

test.each([{ repo: "acme/web", number: 1 }, { repo: "ACME/Web" }])("%j is in place", async (payload) => {
  const { status, event } = await post("m", { ...payload, text: "x" });
  expect([status, event.mapping]).toEqual([202, "m"]);
});

test("an event from elsewhere uses up no key, and renders no other template", async () => {
  expect((await post("m", { repo: "acme/secret", id: "k1", kind: "k", text: "x" })).event.event).toBeUndefined();
  expect((await post("m", { repo: "acme/web", id: "k1", kind: "k", text: "x" })).status).toBe(202);
  expect((await service.post("m", { repo: "acme/web", id: "k1", text: "x" })).headers.get("idempotency-replayed")).toBe(
    "true",
  );
});

test("its transform does not run", async () => {
  expect((await post("t", { repo: "acme/secret" })).status).toBe(204);
  expect((await post("t", { repo: "acme/web" })).status).toBe(500);
});

test("with forEach, item by item", async () => {
  const items = [{ repo: "acme/secret" }, { repo: "acme/web", number: 2 }, { repo: "acme/website" }];
  const { body } = await service.post("each", { items });
  const event = await service.settled(body.eventId);
  expect(event.runs).toMatchObject([{ action: { message: "acme/web" } }]);
  expect(await post("each", { items: [items[0]] })).toMatchObject({
    status: 204,
    event: { reason: "it is about acme/secret, which is not in place" },
  });
});

test("of several lines, those elsewhere fall out first", async () => {
  const { body } = await service.post("lines", { text: "x", first: "acme/secret#1", second: "acme/web#2" });
  const { deliveries } = await service.settled(body.eventId);
  expect(deliveries).toMatchObject([{ channel: "github", to: "acme/web#2" }]);
});

test("doctor says which places were skipped, but not those that are excluded", async () => {
  for (let count = 0; count < 12; count++) {
    const sent = await service.post("github", { repository: { full_name: "acme/site" } }, { "x-github-event": "push" });
    expect(sent.status).toBe(204);
  }
  await post("m", { repo: "old/site" });
  const { stdout } = await runWebhooks(service.folder, "doctor", "--json");
  const { checks } = JSON.parse(stdout);
  expect(checks).toContainEqual({
    name: "preset github",
    level: "note",
    message: "12 events of the last day are about acme/site, which with.place does not name. Renamed? Add it.",
  });
  expect(checks).toContainEqual({
    name: "mapping m",
    level: "note",
    message: "1 event of the last day is about old/site, which place does not name. Renamed? Add it.",
  });
  const own = checks.filter(({ name }: { name: string }) => name === "mapping m");
  expect(JSON.stringify(own)).not.toContain("acme/secret");
});

test("a replay does not pass it", async () => {
  const { body } = await service.post("free", { repo: "acme/secret", text: "x" });
  await service.settled(body.eventId);
  const bounded = mappings.map((one) => (one.id === "free" ? { ...one, place: "acme/web" } : one));
  await service.reload({ hooks: { mappings: bounded }, channels });
  const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
  const { status } = await fetch(`${service.url}/api/events/${body.eventId}/replay`, { method: "POST", headers });
  expect(status).toBe(204);
  const { events } = await service.api("/api/events?hook=free&limit=1");
  expect(events).toMatchObject([{ status: "skipped", reason: "it is about acme/secret, which is not in place" }]);
});

test.each([
  [{ ...plain, place: "acme/web" }, "Without source, nothing says where an event is. Add source, or remove place."],
  [{ ...plain, source, place: [] }, "must not be empty"],
  [{ ...plain, source, place: "!" }, "does not have the expected form"],
])("%j is a problem", async (mapping, message) => {
  const { errors } = await findProblems({ hooks: { mappings: [mapping] } });
  expect(errors).toEqual([expect.stringMatching(/^hooks\.mappings\[0\]\.place: /)]);
  expect(errors[0]).toContain(message);
});

const secret = "a-signing-secret-of-good-length";
const other = "another-signing-secret-of-good-length";
const UNBOUNDED = expect.stringMatching(
  /^hooks\.presets\[0\]: Nothing says which places its events may be about, .* Set with\.place/,
);
const block = { token: "t", baseUrl: "http://127.0.0.1:9" };
const ACCOUNTS = {
  ...Object.fromEntries(
    ["github", "gitea", "gitlab", "linear", "slack", "notion", "chatwoot"].map((name) => [name, block]),
  ),
  bitbucket: { ...block, email: "a@b.example" },
  jira: { ...block, email: "a@b.example" },
  sentry: { ...block, organization: "acme" },
};

async function find(presets: object[], { agents }: { agents?: object } = {}) {
  const uses = presets.map(({ use = "github", ...options }: { use?: string }) => ({
    use,
    with: { secret, ...options },
  }));
  const hooks = { enabled: true, token: "t".repeat(32), presets: uses, mappings: [] };
  const { errors, warnings } = await findProblems({
    hooks,
    channels: ACCOUNTS,
    ...(agents && { agents }),
  });
  return { errors, warnings: warnings.filter((text: string) => text.includes("place")) };
}

test.each(["github", "gitlab", "gitea", "bitbucket", "jira", "linear"])(
  "%s: without place, a use that replies there has a warning",
  async (use) => {
    expect(await find([{ use, channel: "source" }])).toEqual({ errors: [], warnings: [UNBOUNDED] });
    expect(await find([{ use, channel: "source", place: "*" }])).toEqual({ errors: [], warnings: [] });
    expect(await find([{ use }])).toEqual({ errors: [], warnings: [] });
  },
);

test.each([
  ["context", { context: ["diff"] }],
  ["review", { review: true, channel: "source" }],
  ["a target", { deliver: [{ channel: "source" }] }],
  ["a channel of the event's choice", { channel: "{{via}}" }],
  [
    "grants with the event's values",
    { grants: { "tickets.show": { mode: "read", arguments: { id: "{{issue.number}}" } } } },
  ],
])("so has one with %s", async (_, options) => {
  expect((await find([options])).warnings).toEqual([UNBOUNDED]);
  expect((await find([{ ...options, place: "acme" }])).warnings).toEqual([]);
});

test("so has one whose messages can answer a question", async () => {
  const approvals = { channel: "github", to: "acme/web#1", by: ["github:1"] };
  expect((await find([{}], { agents: { approvals } })).warnings).toEqual([UNBOUNDED]);
  const elsewhere = { ...approvals, channel: "slack", to: "C01" };
  expect((await find([{}], { agents: { approvals: elsewhere } })).warnings).toEqual([]);
});

const SECOND = "hooks.presets[1]: A second secret uses channels.github. Set with.place on both, or with.account.";

test.each<[string, object[], string[]]>([
  ["two secrets, no place", [{}, { path: "b", secret: other }], [SECOND]],
  ["two secrets, one place", [{ place: "acme/web" }, { path: "b", secret: other }], [SECOND]],
  ["two places", [{ place: "acme/web" }, { path: "b", secret: other, place: "*" }], []],
  ["the second does nothing there", [{}, { path: "b", secret: other, channel: "last" }], []],
  [
    "no places to name",
    [
      { use: "sentry", context: ["event"] },
      { use: "sentry", path: "b", secret: other, context: ["event"] },
    ],
    ["hooks.presets[1]: A second secret uses channels.sentry. Set with.account."],
  ],
  [
    "accounts of a desk",
    [{ use: "chatwoot" }, { use: "chatwoot", path: "b", secret: other }],
    ["hooks.presets[1]: A second secret uses channels.chatwoot. Set with.account."],
  ],
])("%s", async (_, presets, errors) => {
  const uses = presets.map((options) => ({ channel: "source", ...options }));
  expect((await find(uses)).errors).toEqual(errors);
});
