import { afterEach, expect, test, vi } from "vitest";
import { recorder, scripted, startDispatch } from "../../../test/support/dispatch.ts";
import { silentLog } from "../telemetry/log.ts";
import { createWorkMarks } from "./working.ts";

afterEach(() => void vi.useRealTimers());

test("a mark is removed when another node has sent the reply, and not before", async () => {
  const service = await startDispatch({ agent: scripted(() => "Done."), channel: recorder() });
  const [runId = ""] = await service.accept({ deliver: true, channel: "slack", to: "C1", toSource: true });
  await expect.poll(async () => (await service.journal.listEvents({ limit: 1 }))[0]?.status).toBe("done");
  const run = (await service.journal.getRun(runId))!;
  const [event] = await service.journal.listEvents({ limit: 1 });

  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  let isOpen = true;
  const calls: string[] = [];
  const channel = {
    ...recorder(),
    startWorking: async (to: string) => {
      calls.push(`start ${to}`);
      return async () => void calls.push(`stop ${to}`);
    },
  };
  const marks = createWorkMarks({
    current: () => ({ channels: new Map([["slack", channel]]), config: { channelRules: new Map() } }),
    // The journal's answer while the other node still works.
    journal: { listEvents: async () => [{ ...event!, open: isOpen ? 1 : 0 }] },
    log: silentLog,
  });
  marks.show(run);
  marks.show(run);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(calls).toEqual(["start C1"]);
  isOpen = false;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(calls).toEqual(["start C1", "stop C1"]);
  expect(vi.getTimerCount()).toBe(0);
  await service.close();
});
