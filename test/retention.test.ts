import { expect, test } from "vitest";
import { startService } from "./support/service.ts";

test("what is finished and old goes by itself, what has a heartbeat to come stays", async () => {
  const service = await startService({ config: { store: { retention: { maxAge: "1ms" } } } });
  try {
    const agent = { message: "x", sessionKey: "s", deliver: false, wakeMode: "next-heartbeat" };
    const { body } = await service.post("agent", agent);
    await service.settled(body.eventId);
    await expect.poll(() => service.api("/api/events"), { timeout: 5000 }).toEqual({ events: [] });
    expect(await service.api("/api/runs")).toEqual({ runs: [] });
    const { sessions } = await service.api("/api/sessions");
    expect(sessions).toMatchObject([{ key: "main", entries: 1 }]);
  } finally {
    await service.close();
  }
});
