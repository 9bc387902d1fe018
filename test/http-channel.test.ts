/** The channel `http`: a reply is posted to an endpoint that the operator names. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { ConfigError } from "../src/core/errors.ts";
import { type FaultProxy, startFaultProxy } from "../src/contracts/fault-proxy.ts";
import { ExactNumber } from "../src/core/shared/exact-json.ts";
import { type HttpTarget, startHttpTarget, TARGET_SECRET } from "./support/http-target.ts";
import { type Service, startService } from "./support/service.ts";

let target: HttpTarget;
let proxy: FaultProxy;
let service: Service;

beforeEach(async () => {
  target = await startHttpTarget();
  proxy = await startFaultProxy(target.url);
  service = await startService({
    config: toConfig({ token: "{{payload.token}}", id: "{{payload.id}}", by: "{{hook}}" }),
  });
});
afterEach(async () => {
  await service.close();
  await proxy.close();
  await target.close();
});

function toConfig(body: Record<string, unknown>): UserConfig {
  const mapping = { agent: "none", messageTemplate: "{{text}}", channel: "http" } as const;
  return {
    channels: {
      http: {
        targets: {
          plain: { url: proxy.url, secret: TARGET_SECRET },
          shaped: { url: proxy.url, body: { ...body, said: "{{text}}" } },
        },
      },
    },
    hooks: {
      mappings: [
        { ...mapping, match: { path: "plain" }, sessionKey: "s", to: "plain" },
        { ...mapping, match: { path: "shaped" }, to: "shaped" },
        { ...mapping, match: { path: "chosen" }, to: "{{to}}" },
      ],
    },
  };
}

test("a repeat after a failure has the same id, and a valid signature of its own", async () => {
  proxy.inject({ kind: "answer", status: 503 });
  const { body } = await service.post("plain", { text: "Hello." });
  await expect.poll(() => proxy.requests.length).toBe(1);
  proxy.inject();
  const { deliveries, runs } = await service.settled(body.eventId);
  const [first, second, ...others] = proxy.requests.map(({ headers }) => headers["webhook-id"]);
  expect(others).toEqual([]);
  expect(first).toBe(`${deliveries[0]?.id}:0`);
  expect(second).toBe(first);
  expect(await target.posted()).toMatchObject([
    {
      signature: "valid",
      body: { text: "Hello.", eventId: body.eventId, runId: runs[0]?.id, hook: "plain", sessionKey: "s" },
    },
  ]);
});

test("a body shows fields of the event, with numbers as they came", async () => {
  const payload = { text: "Hello.", token: "t1", id: new ExactNumber("12345678901234567890") };
  const { body } = await service.post("shaped", payload);
  await service.settled(body.eventId);
  expect((await target.posted())[0]?.body).toEqual({
    token: "t1",
    id: "12345678901234567890",
    by: "shaped",
    said: "Hello.",
  });
});

test("a long reply is one request, whose last line says where the rest is", async () => {
  const { body } = await service.post("plain", { text: "long words ".repeat(23_000) });
  const { deliveries } = await service.settled(body.eventId);
  expect(deliveries).toMatchObject([
    {
      state: "sent",
      partsSent: 1,
      warnings: ["The reply does not fit into one message: the rest is only on the operator's page."],
    },
  ]);
  const posted = await target.posted();
  expect(posted).toHaveLength(1);
  expect(posted[0]?.body["text"]).toMatch(/continued on the operator's page$/);
});

test("a payload can choose only a target that the configuration names", async () => {
  expect(await service.post("chosen", { text: "x", to: "https://evil.test/" })).toMatchObject({ status: 400 });
  const { body } = await service.post("chosen", { text: "x", to: "shaped" });
  expect(await service.settled(body.eventId)).toMatchObject({ deliveries: [{ state: "sent" }] });
});

test("a template of a body that does not compile is an error at load", async () => {
  const refused = service.reload(toConfig({ title: "{{#if}}" }));
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(refused).rejects.toThrow(/channels\.http.*targets\.shaped\.body\.title/s);
});

test("a target without a secret is named in a warning", () => {
  const keys = service.hookline.warnings().map(({ key }) => key);
  expect(keys).toContain("channels.http.targets.shaped.secret");
  expect(keys).not.toContain("channels.http.targets.plain.secret");
});
