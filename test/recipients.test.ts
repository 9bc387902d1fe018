/** A delivery that cannot succeed is refused before the turn. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Service, startService } from "./support/service.ts";

let service: Service;
beforeAll(async () => {
  const mapping = { match: { path: "news" }, messageTemplate: "x", channel: "{{channel}}", to: "{{to}}" };
  const config = { channels: { discord: { token: "t" } }, hooks: { mappings: [mapping] } };
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

test("without delivery neither is checked", async () => {
  const answer = await service.post("agent", { message: "x", channel: "slack", to: "#", deliver: false });
  expect(answer.status).toBe(202);
});
