/** An event about a message that a delivery sent. The channel is a server that answers as Slack does, when it is let to. */
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createGate, type Gate } from "./support/gate.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";

let gate: Gate;
let sent = 0;
let slack: Server;
let service: Service;

beforeAll(async () => {
  gate = createGate();
  slack = createServer(async (_request, response) => {
    sent += 1;
    const ts = `1.${sent}`;
    await gate.passed;
    response.setHeader("content-type", "application/json").end(JSON.stringify({ ok: true, channel: "C1", ts }));
  });
  await new Promise<void>((resolve) => slack.listen(0, "127.0.0.1", resolve));
  const address = slack.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const mapping = {
    match: { path: "talk" },
    agent: "none",
    echo: "{{event.channel}}:{{event.ts}}",
    messageTemplate: "{{event.text}}",
    channel: "slack",
    to: "#general",
    wakeMode: "next-heartbeat",
  } as const;
  service = await startService({
    config: {
      channels: { slack: { token: "t", baseUrl: `http://127.0.0.1:${port}/api/` } },
      hooks: { mappings: [mapping] },
    },
  });
});
afterAll(async () => {
  await service.close();
  await new Promise((resolve) => slack.close(resolve));
});

const post = (ts: string) => service.post("talk", { event: { channel: "C1", ts, text: "Hello." } });

test("is skipped, also if it comes before the service has answered the delivery", async () => {
  const { body } = await post("0.1");
  await expect.poll(() => sent).toBe(1);
  const echo = post("1.1");
  gate.open();
  expect((await echo).status).toBe(204);
  await service.settled(body.eventId);
  expect((await post("1.1")).status).toBe(204);
  const { events } = await service.api("/api/events?status=skipped");
  expect(events).toMatchObject([
    { hook: "talk", reason: "it is the echo of a delivery" },
    { hook: "talk", reason: "it is the echo of a delivery" },
  ]);
});

test("only that message is skipped, and an operator can replay it", async () => {
  expect((await post("1.7")).status).toBe(202);
  const { events } = await service.api("/api/events?status=skipped");
  const replayed = await fetch(`${service.url}/api/events/${events[0].id}/replay`, {
    method: "POST",
    headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
  });
  expect(replayed.status).toBe(202);
});
