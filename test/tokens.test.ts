import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { type Service, startService } from "./support/service.ts";

const [CURRENT, PREVIOUS] = ["the-current-hook-token-0123456789", "the-previous-hook-token-0123456789"];
const [DEPLOYS, CI] = ["the-token-for-deploys-0123456789", "the-token-for-ci-0123456789"];
const HOOKS = {
  token: [CURRENT, PREVIOUS],
  tokens: { deploys: { secret: DEPLOYS, hooks: ["deploys"] }, ci: { secret: [CI] } },
  mappings: [
    { match: { path: "deploys" }, messageTemplate: "{{n}}", deliver: false },
    { match: { path: "builds" }, messageTemplate: "{{n}}", deliver: false },
  ],
} satisfies UserConfig["hooks"];

let service: Service;
beforeEach(async () => {
  service = await startService({ config: { hooks: HOOKS } });
});
afterEach(() => service.close());

async function post(hook: string, token: string, headers: Record<string, string> = {}) {
  const answer = await service.post(hook, { n: 1 }, { authorization: `Bearer ${token}`, ...headers });
  const event = answer.status < 400 ? await service.api(`/api/events/${answer.body.eventId}`) : undefined;
  return { status: answer.status, eventId: answer.body.eventId, credential: event?.credential };
}

test("each secret of a token is accepted, under the token's name", async () => {
  expect(await post("builds", CURRENT)).toMatchObject({ status: 202, credential: "token:default" });
  expect(await post("builds", PREVIOUS)).toMatchObject({ status: 202, credential: "token:default" });
  expect(await post("builds", CI)).toMatchObject({ status: 202, credential: "token:ci" });
});

test("a limited token is valid only for its hooks, and elsewhere is answered like a wrong one", async () => {
  expect(await post("deploys", DEPLOYS)).toMatchObject({ status: 202, credential: "token:deploys" });
  for (const hook of ["builds", "wake", "nothing", "deploys/more"]) {
    expect(await service.post(hook, {}, { authorization: `Bearer ${DEPLOYS}` })).toMatchObject({
      status: 401,
      body: { code: "unauthorized", error: expect.stringMatching(/^The token is wrong, or not for this hook\./) },
    });
  }
  expect(await post("nothing", CI)).toMatchObject({ status: 404 });
});

describe("idempotency keys", () => {
  const key = { "idempotency-key": "k-1" };

  test("belong to the token's name, so rotating its secret changes nothing", async () => {
    const first = await post("builds", PREVIOUS, key);
    expect(await post("builds", CURRENT, key)).toEqual(first);
  });

  test("of two tokens do not collide", async () => {
    const first = await post("deploys", CI, key);
    expect((await post("deploys", DEPLOYS, key)).eventId).not.toBe(first.eventId);
  });
});

test("a rotation under load refuses no request and takes no repeat for a new one", async () => {
  const withSecrets = (...secret: string[]) => ({ hooks: { ...HOOKS, tokens: { ci: { secret } } } });
  const statuses = new Set<number>();
  const repeats = new Set<string>();
  /** Sends new requests and repeats of one until it is stopped. */
  function keepSending(secret: string): () => Promise<unknown> {
    const state = { isRunning: true };
    const loops = [undefined, "k-1"].map(async (key) => {
      const headers: Record<string, string> = { authorization: `Bearer ${secret}` };
      if (key) headers["idempotency-key"] = key;
      while (state.isRunning) {
        const { status, body } = await service.post("builds", { n: 1 }, headers);
        statuses.add(status);
        if (key) repeats.add(body.eventId);
      }
    });
    return () => {
      state.isRunning = false;
      return Promise.all(loops);
    };
  }

  let current = CI;
  let stop = keepSending(current);
  for (let rotation = 1; rotation <= 5; rotation++) {
    const next = `the-token-for-ci-after-rotation-${rotation}`;
    await service.reload(withSecrets(next, current));
    const stopNext = keepSending(next);
    await stop();
    await service.reload(withSecrets(next));
    [current, stop] = [next, stopNext];
  }
  await stop();
  expect([...statuses]).toEqual([202]);
  expect(repeats.size).toBe(1);
  expect(await post("builds", CI)).toMatchObject({ status: 401 });
});

test("a replay keeps the credential of its event", async () => {
  const { eventId } = await post("deploys", DEPLOYS);
  const replayed = await fetch(`${service.url}/api/events/${eventId}/replay`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.hookline.runtime().config.gateway.token}` },
  });
  const { eventId: again } = Object(await replayed.json());
  expect(await service.api(`/api/events/${again}`)).toMatchObject({ replayOf: eventId, credential: "token:deploys" });
});

test("a limited token leads to sessions of its own, which the answer shows; what it was told of, it can name", async () => {
  const sender = { secret: DEPLOYS, hooks: ["agent", "deploys"] };
  const mappings = [{ match: { path: "deploys" }, messageTemplate: "x", sessionKey: "{{key}}" }];
  await service.reload({ hooks: { token: CURRENT, tokens: { sender, ci: { secret: CI } }, mappings } });
  const keyOf = async (hook: string, token: string, fields: object): Promise<string> => {
    const answer = await service.post(hook, { message: "x", ...fields }, { authorization: `Bearer ${token}` });
    expect(answer).toMatchObject({ status: 202 });
    return answer.body.sessionKey;
  };
  for (const token of [CURRENT, CI]) expect(await keyOf("agent", token, { sessionKey: "desk" })).toBe("desk");
  expect(await keyOf("agent", DEPLOYS, { sessionKey: "desk" })).toBe("token:sender:desk");
  for (const token of [CURRENT, DEPLOYS])
    expect(await keyOf("deploys", token, { key: "desk" })).toBe("hook:deploys:desk");
  const own = await keyOf("agent", DEPLOYS, {});
  expect(own).toMatch(/^hook:[\da-f-]{36}$/);
  expect(await keyOf("agent", DEPLOYS, { sessionKey: own })).toBe(own);
  expect(await service.api(`/api/sessions/${encodeURIComponent("token:sender:desk")}`)).toMatchObject({
    key: "token:sender:desk",
  });
});

describe("OpenClaw's header names", () => {
  const send = (headers: Record<string, string>) =>
    service.post("builds", { n: 1 }, { authorization: "", "x-openclaw-token": CURRENT, ...headers });

  test("count with hooks.compat, after our own names, and no template sees the token", async () => {
    const mappings = [{ messageTemplate: "{{n}} {{json headers}}", deliver: false }];
    await service.reload({ hooks: { ...HOOKS, compat: "openclaw", mappings } });
    const first = await send({ "x-openclaw-idempotency-key": "k-1" });
    expect(first).toMatchObject({ status: 202 });
    const again = await send({ "x-openclaw-idempotency-key": "k-1" });
    expect(again.body.runId).toBe(first.body.runId);
    const other = await send({ "x-openclaw-idempotency-key": "k-1", "idempotency-key": "k-2" });
    expect(other.body.runId).not.toBe(first.body.runId);
    expect(JSON.stringify(await service.api(`/api/events/${first.body.eventId}`))).not.toContain(CURRENT);
    expect(await send({ "x-gateway-token": "wrong" })).toMatchObject({ status: 401 });
    expect(await send({ "x-openclaw-token": "wrong" })).toMatchObject({ status: 401 });
    expect(await send({ "x-openclaw-idempotency-key": "not valid" })).toMatchObject({ status: 400 });
  });

  test("mean nothing without it", async () => {
    expect(await send({})).toMatchObject({ status: 401 });
  });
});
