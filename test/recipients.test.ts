/** A delivery that cannot succeed is refused before the turn. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Service, startService } from "./support/service.ts";

let service: Service;
beforeAll(async () => {
  const mapping = { match: { path: "news" }, messageTemplate: "x", channel: "{{channel}}", to: "{{to}}" };
  const source = { channel: "{{or channel 'slack'}}", to: "C0123456789" };
  const silent = { ...mapping, match: { path: "silent" }, deliver: false };
  const quiet = { match: { path: "quiet" }, messageTemplate: "x", channel: "source", source, deliver: false };
  const config = { channels: { discord: { token: "t" } }, hooks: { mappings: [mapping, silent, quiet] } };
  service = await startService({ config });
});
afterAll(() => service.close());

test.each(["agent", "news"])("%s refuses a channel that is not configured", async (hook) => {
  const answer = await service.post(hook, { message: "x", channel: "slack", to: "C0123456789" });
  expect(answer).toMatchObject({ status: 400, body: { error: "channel slack is not configured." } });
});

test.each(["agent", "news"])("%s refuses a recipient that cannot be one on the channel", async (hook) => {
  const answer = await service.post(hook, { message: "x", channel: "discord", to: "#general" });
  expect(answer).toMatchObject({
    status: 400,
    body: { error: expect.stringMatching(/^to is not a recipient on discord\. Expected the id of a Discord channel/) },
  });
});

test.each(["agent", "silent"])("%s checks both also if nothing is delivered", async (hook) => {
  const send = (place: object) => service.post(hook, { message: "x", deliver: false, ...place });
  expect(await send({ channel: "slack" })).toMatchObject({ status: 400, body: { code: "invalid_payload" } });
  expect(await send({ channel: "discord", to: "#" })).toMatchObject({ status: 400, body: { code: "invalid_payload" } });
  expect((await send({ channel: "discord", to: "1234567890123456789" })).status).toBe(202);
  expect((await send({ to: "#" })).status).toBe(202);
});

test("an agent payload has no place of an event", async () => {
  for (const deliver of [true, false]) {
    const answer = await service.post("agent", { message: "x", channel: "source", deliver });
    expect(answer).toMatchObject({ status: 400, body: { error: "channel source can only be set in a mapping." } });
  }
});

test("a place that the event names is not checked if nothing is delivered there", async () => {
  expect((await service.post("quiet", {})).status).toBe(202);
});
