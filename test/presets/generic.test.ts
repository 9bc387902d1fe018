import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Service, startService } from "../support/service.ts";

const SECRETS = {
  token: "the-secret-of-the-backups",
  header: "the-secret-of-the-shop",
  hmac: "the-secret-of-the-deploys",
};
const BODY = JSON.stringify({ state: "failed", service: "shop", error: "no space left" });

let service: Service;
beforeAll(async () => {
  const common = { deliver: false, wakeMode: "next-heartbeat" };
  const deploys = {
    ...common,
    path: "deploys",
    secret: SECRETS.hmac,
    scheme: "hmac",
    header: "X-Deploy-Signature",
    hmac: { prefix: "sha512=", algorithm: "sha512", encoding: "base64" },
    event: "deploy.{{state}}",
    events: ["deploy.failed"],
    sessionKey: "hook:deploys:{{service}}",
    message: "{{service}} could not be deployed: {{error}}",
  };
  const presets = [
    { use: "generic", with: { ...common, secret: SECRETS.token } },
    {
      use: "generic",
      with: { ...common, path: "shop", secret: SECRETS.header, scheme: "header", header: "X-Api-Key" },
    },
    { use: "generic", with: deploys },
  ];
  service = await startService({ config: { hooks: { presets } } });
});
afterAll(() => service.close());

function post(hook: string, headers: Record<string, string>, body = BODY): Promise<Response> {
  return fetch(`${service.url}/hooks/${hook}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
}

function sign(body: string): Record<string, string> {
  return { "x-deploy-signature": `sha512=${createHmac("sha512", SECRETS.hmac).update(body).digest("base64")}` };
}

test.each([
  ["generic", { authorization: `Bearer ${SECRETS.token}` }, { authorization: `Bearer ${SECRETS.header}` }],
  ["shop", { "x-api-key": SECRETS.header }, { authorization: `Bearer ${SECRETS.header}` }],
  ["deploys", sign(BODY), sign("{}")],
])("%s accepts a secret in the form that was chosen, and no other", async (hook, right, wrong) => {
  expect((await post(hook, right)).status).toBe(202);
  expect((await post(hook, wrong)).status).toBe(401);
});

test("event, events, sessionKey and message are the operator's", async () => {
  const body = JSON.stringify({ state: "failed", service: "jobs", error: "no space left" });
  const response = await post("deploys", sign(body), body);
  const { eventId, sessionKey } = JSON.parse(await response.text());
  expect(sessionKey).toBe("hook:deploys:jobs");
  expect(await service.api(`/api/events/${eventId}`)).toMatchObject({ event: "deploy.failed" });
  const done = JSON.stringify({ state: "done", service: "jobs" });
  expect((await post("deploys", sign(done), done)).status).toBe(204);
});

test("only events about the same object share a session", async () => {
  const keyOf = async (payload: object, type?: string): Promise<string> => {
    const headers = { authorization: `Bearer ${SECRETS.token}`, ...(type && { "x-event-type": type }) };
    return Object(await (await post("generic", headers, JSON.stringify(payload))).json()).sessionKey;
  };
  const keys = [
    await keyOf({ text: "Somebody is at the door." }),
    await keyOf({ text: "Somebody else is." }),
    await keyOf({ incident: { id: 7 } }),
    await keyOf({ issue: { id: 7 } }),
    await keyOf({ id: 7 }),
    await keyOf({ data: { id: 7 } }, "order.created"),
    await keyOf({ data: { id: 7 } }, "customer.created"),
    await keyOf({ data: { id: 7 } }),
    await keyOf({ data: { id: 7, type: "orders" } }),
    await keyOf({ data: { id: 7, type: "customers" } }),
    await keyOf({ id: 7, object: "order" }, "created"),
    await keyOf({ id: 7, object: "customer" }, "created"),
    await keyOf({ id: 7, object_type: "refund" }, "created"),
    await keyOf({ object: { id: 7 } }, "created"),
  ];
  expect(keys).toEqual([...new Set(keys)]);
  expect(await keyOf({ data: { id: 7 }, paid: true }, "order.paid")).toBe(keys[5]);
  expect(await keyOf({ issue: { id: 7 }, state: "closed" })).toBe(keys[3]);
});

test("the same content with the same id of a delivery is a repeat", async () => {
  const headers = { authorization: `Bearer ${SECRETS.token}`, "x-delivery-id": "d1" };
  expect((await post("generic", headers)).headers.has("idempotency-replayed")).toBe(false);
  expect((await post("generic", headers)).headers.get("idempotency-replayed")).toBe("true");
});
