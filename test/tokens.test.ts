import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/config/schema/generated.ts";
import { type Service, startService } from "./support/service.ts";

const [CURRENT, PREVIOUS] = ["the-current-hook-token-0123456789", "the-previous-hook-token-0123456789"];
const [DEPLOYS, CI] = ["the-token-for-deploys-0123456789", "the-token-for-ci-0123456789"];
const HOOKS: UserConfig["hooks"] = {
  token: [CURRENT, PREVIOUS],
  tokens: { deploys: { secret: DEPLOYS, hooks: ["deploys"] }, ci: { secret: [CI] } },
  mappings: [
    { match: { path: "deploys" }, messageTemplate: "{{n}}", deliver: false },
    { match: { path: "builds" }, messageTemplate: "{{n}}", deliver: false },
  ],
};

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
      body: { code: "unauthorized", error: "The hook token is wrong. Send it as Authorization: Bearer." },
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

test("a replay keeps the credential of its event", async () => {
  const { eventId } = await post("deploys", DEPLOYS);
  const replayed = await fetch(`${service.url}/api/events/${eventId}/replay`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.hookline.program().config.gateway.token}` },
  });
  const { eventId: again } = Object(await replayed.json());
  expect(await service.api(`/api/events/${again}`)).toMatchObject({ replayOf: eventId, credential: "token:deploys" });
});
