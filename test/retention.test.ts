import { expect, test } from "vitest";
import { startService, withTokens } from "./support/service.ts";

test("old finished events are deleted, pending system events are kept", async () => {
  let service = await startService();
  try {
    const agent = { message: "x", sessionKey: "s", deliver: false, wakeMode: "next-heartbeat" };
    const { body } = await service.post("agent", agent);
    await service.settled(body.eventId);

    const config = withTokens({ store: { retention: { maxAge: "1ms" } } });
    service.write("webhooks.json5", JSON.stringify(config));
    service = await service.restart();
    const listed = () => service.api("/api/events");
    await expect.poll(listed).toEqual({ events: [] });
    expect(await service.api("/api/runs")).toEqual({ runs: [] });
    const { sessions } = await service.api("/api/sessions");
    expect(sessions).toMatchObject([{ key: "main", entries: 1 }]);
  } finally {
    await service.close();
  }
});
