/** A captured request of a sender that signs: what its signature does not cover can be changed by anyone. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MappingInput } from "../src/core/config/schema/generated.ts";
import { builtInDrivers } from "../src/service/drivers.ts";
import * as fc from "./support/property.ts";
import {
  createSender,
  createSenders,
  OPTIONS,
  respell,
  sampleFor,
  SECRET,
  type Sender,
  URL_OF_HOOK,
} from "./support/signatures.ts";
import { type Service, startService } from "./support/service.ts";

const { providers } = builtInDrivers;

const quiet = { action: "wake", textTemplate: "{{text}} {{item}}", wakeMode: "next-heartbeat" } as const;

/** How a mapping uses a delivery id that is not signed, by the end of the hook's name. */
const MAPPINGS: Record<string, Partial<MappingInput>> = {
  dedupe: { dedupe: "{{headers.x-delivery}}" },
  none: {},
  items: { forEach: "items", dedupe: "{{headers.x-delivery}} {{index}}" },
};

function optionsOf(sender: Sender): Record<string, unknown> & { secret: string } {
  const secret = "publicKey" in sender ? String(sender.publicKey) : SECRET;
  const options = { secret, ...OPTIONS[sender.scheme] };
  return { ...options, ...(providers[sender.scheme]?.signsUrl?.({ signed: [], ...options }) && { url: URL_OF_HOOK }) };
}

const senders = (await createSenders()).filter(
  (sender) => providers[sender.scheme]?.replay?.(optionsOf(sender)) !== "plain",
);

let service: Service;
beforeAll(async () => {
  const mappings = senders.flatMap((sender) =>
    Object.entries(MAPPINGS).map(([name, fields]) => {
      const id = `${sender.scheme}-${name}`;
      return { ...quiet, ...fields, id, match: { path: id }, auth: { scheme: sender.scheme, ...optionsOf(sender) } };
    }),
  );
  const plain = { ...quiet, auth: { scheme: "hmac", secret: SECRET, header: "X-Signature" } };
  const github = { ...quiet, auth: { scheme: "github", secret: SECRET } };
  const others: MappingInput[] = [
    { ...plain, match: { path: "cron" } },
    { ...plain, match: { path: "cron-signed" }, auth: { ...plain.auth, replay: "signature" } },
    { ...quiet, match: { path: "gitlab" }, auth: { scheme: "gitlab", secret: SECRET } },
    { ...github, match: { path: "skips", headers: { "x-kind": "open" } } },
    { ...github, match: { path: "refuses" }, textTemplate: "{{headers.x-text}}" },
  ];
  service = await startService({ config: { hooks: { mappings: [...mappings, ...others] } } });
});
afterAll(() => service.close());

interface Captured {
  hook: string;
  headers: Record<string, string>;
  body: Buffer;
}

let captures = 0;

async function capture(sender: Sender, hook: string): Promise<Captured> {
  captures += 1;
  const { contentType } = sampleFor(sender.scheme);
  const isForm = contentType.includes("form");
  const text = isForm ? "From=%2B1&text=t&items=one" : JSON.stringify({ id: hook, text: "t", items: ["one", "two"] });
  const request = { method: "POST", url: URL_OF_HOOK, body: Buffer.from(text), contentType, now: Date.now() };
  const parts = await sender.sign(request);
  const headers = {
    "content-type": contentType,
    "x-delivery": `d ${captures}`,
    "idempotency-key": `k-${captures}`,
    ...parts.headers,
  };
  return { hook, headers, body: Buffer.from(parts.body ?? request.body) };
}

async function post({ hook, headers, body }: Captured, query = ""): Promise<Response> {
  const url = `${service.url}/hooks/${hook}${query}`;
  return fetch(url, { method: "POST", headers, body: new Uint8Array(body) });
}

async function countActing(hook: string): Promise<number> {
  const { events } = await service.api(`/api/events?hook=${hook}&limit=100`);
  return events.filter(({ actions }: { actions: unknown[] }) => actions.length > 0).length;
}

const UNSIGNED = fc.record({
  headers: fc.dictionary(
    fc.constantFrom(
      "x-delivery",
      "idempotency-key",
      "content-type",
      "user-agent",
      "x-github-event",
      "content-language",
    ),
    fc.constantFrom(
      "d-2",
      "k-2",
      "application/json",
      "text/plain",
      "application/x-www-form-urlencoded",
      "application/xml",
    ),
    { minKeys: 1 },
  ),
  query: fc.constantFrom("", "?a=1", "?x-delivery=2&a=1"),
});

describe.each(senders)("$scheme", (sender) => {
  test.each(Object.keys(MAPPINGS))("with any unsigned part changed runs once, with the mapping %s", async (name) => {
    const captured = await capture(sender, `${sender.scheme}-${name}`);
    const first = await post(captured);
    expect(first.status).toBe(200);
    const property = fc.asyncProperty(UNSIGNED, async ({ headers, query }) => {
      const { status, headers: answered } = await post(
        { ...captured, headers: { ...captured.headers, ...headers } },
        query,
      );
      if (status === 200) expect(answered.get("idempotency-replayed")).toBe("true");
    });
    await fc.assert(property, { numRuns: 3 });
    const respelled = Object.fromEntries(respell(Object.entries(captured.headers)));
    const changed = { ...respelled, "x-delivery": "new", "idempotency-key": "new" };
    const copy = await post({ ...captured, headers: changed });
    expect([copy.status, await copy.text()]).toEqual([200, await first.text()]);
    expect(await countActing(captured.hook)).toBe(1);
  });
});

async function statuses(captured: Captured, ...changes: Record<string, string>[]): Promise<number[]> {
  const answers: number[] = [];
  for (const headers of changes) {
    answers.push((await post({ ...captured, headers: { ...captured.headers, ...headers } })).status);
  }
  return answers;
}

async function captureOf(scheme: string, hook: string, options: object = {}): Promise<Captured> {
  return capture(await createSender(scheme, options), hook);
}

test("a secret that requests show, and bodies that repeat, are not remembered", async () => {
  const gitlab = await captureOf("gitlab", "gitlab");
  const hmac = { header: "X-Signature", signed: ["body"], idHeader: undefined, timestampHeader: undefined };
  const cron = await captureOf("hmac", "cron", hmac);
  for (const captured of [gitlab, cron]) {
    expect(await statuses(captured, {}, { "idempotency-key": "new" })).toEqual([200, 200]);
    expect(await countActing(captured.hook)).toBe(2);
  }
});

test('a plain scheme with replay: "signature" is unique', async () => {
  const hmac = { header: "X-Signature", signed: ["body"], idHeader: undefined, timestampHeader: undefined };
  const captured = await captureOf("hmac", "cron-signed", hmac);
  expect(await statuses(captured, {}, { "idempotency-key": "new" })).toEqual([200, 200]);
  expect(await countActing("cron-signed")).toBe(1);
});

test("a retry after a skip or a refusal runs", async () => {
  const skipped = await captureOf("github", "skips");
  expect(await statuses(skipped, {}, { "x-kind": "open" }, { "x-kind": "open", "x-delivery": "2" })).toEqual([
    204, 200, 200,
  ]);
  expect(await countActing("skips")).toBe(1);
  const refused = await captureOf("github", "refuses");
  expect(await statuses(refused, {}, { "x-text": "t" })).toEqual([400, 200]);
});

test("Mailgun: another body with a token that was used is refused, and shown as a rejection", async () => {
  const captured = await captureOf("mailgun", "mailgun-none");
  const forged = { ...captured, body: Buffer.from(captured.body.toString().replace('"t"', '"forged"')) };
  // Nothing is remembered of a request that is refused.
  const blank = captured.body.toString().replace('"t"', '""');
  expect((await post({ ...captured, body: Buffer.from(blank) })).status).toBe(400);
  expect(await statuses(captured, {}, { "idempotency-key": "new" })).toEqual([200, 200]);
  const { status, headers } = await post(forged);
  expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  expect((await post({ ...forged, headers: { ...forged.headers, "idempotency-key": "new-too" } })).status).toBe(401);
  const { rejections } = await service.api("/api/rejections");
  expect(rejections[0]).toMatchObject({ hook: "mailgun-none", reason: "wrong" });
  expect(JSON.stringify(await service.api("/api/events?hook=mailgun-none"))).not.toContain("forged");
});

test("Mailgun: of concurrent requests with one token and different bodies one runs", async () => {
  const captured = await captureOf("mailgun", "mailgun-dedupe");
  const earlier = await countActing("mailgun-dedupe");
  const bodies = ["one", "two", "three"].map((text) => captured.body.toString().replace('"t"', JSON.stringify(text)));
  const answers = await Promise.all(bodies.map((body) => post({ ...captured, body: Buffer.from(body) })));
  expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 401, 401]);
  expect(await countActing("mailgun-dedupe")).toBe(earlier + 1);
});
