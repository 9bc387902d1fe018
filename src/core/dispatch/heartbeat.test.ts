import { afterEach, describe, expect, test } from "vitest";
import { type DispatchService, recorder, scripted, startDispatch } from "../../../test/support/dispatch.ts";
import { open as openPostgres } from "../../../test/contracts/journal/openers/postgres.ts";
import { createGate } from "../../../test/support/gate.ts";
import type { AgentTurn } from "../ports/agent.ts";
import { createEcho } from "../../agents/echo.ts";
import { DriverError } from "../errors.ts";

let service: DispatchService;
afterEach(() => service.close());

test("an urgent wake is given to the main session and consumed", async () => {
  service = await startDispatch({ agent: createEcho() });
  await service.accept({ kind: "wake", text: "the door bell rang" });
  await pendingEvents(0);
  const main = await service.journal.getSession("main", { limit: 10 });
  expect(main?.entries).toMatchObject([
    { role: "system", text: "the door bell rang" },
    { role: "user", text: expect.stringMatching(/the door bell rang[^]*reply with just HEARTBEAT_OK/) },
    { role: "assistant", text: "HEARTBEAT_OK" },
  ]);
});

test("a wake for the next heartbeat waits for its time; with nothing pending there is no turn", async () => {
  const { agent, turns } = counting("HEARTBEAT_OK");
  service = await startDispatch({ agent });
  await service.accept({ kind: "wake", text: "later", mode: "next-heartbeat" });
  await pause(300);
  expect(turns).toHaveLength(0);
  service.dispatcher.beat();
  await pendingEvents(0);
  service.dispatcher.beat();
  await pause(300);
  expect(turns).toHaveLength(1);
});

test("several requests lead to one heartbeat, those during it to one more", async () => {
  const gate = createGate();
  const { agent, turns } = counting("HEARTBEAT_OK", gate.passed);
  service = await startDispatch({ agent });
  await Promise.all(["a", "b", "c"].map((text) => service.accept({ kind: "wake", text })));
  await expect.poll(() => turns.length).toBe(1);
  await Promise.all(["d", "e", "f"].map((text) => service.accept({ kind: "wake", text })));
  gate.open();
  await pendingEvents(0);
  await pause(300);
  expect(turns.map(({ message }) => message.match(/\n[a-f]$/gm)?.join(""))).toEqual(["\na\nb\nc", "\nd\ne\nf"]);
});

test("the first request is met at once, those within the join window after it by one heartbeat at its end", async () => {
  const { agent, turns } = counting("HEARTBEAT_OK");
  const heartbeat = { times: { every: "1h" }, joinMs: 4000, ack: "HEARTBEAT_OK" };
  service = await startDispatch({ agent, settings: { heartbeat } });
  await service.accept({ kind: "wake", text: "a" });
  await pendingEvents(0);
  await Promise.all(["b", "c"].map((text) => service.accept({ kind: "wake", text })));
  await pendingEvents(0);
  expect(turns.map(({ message }) => message.match(/\n[abc]$/gm)?.join(""))).toEqual(["\na", "\nb\nc"]);
});

test("a request in an open join window is met at once after a restart", async () => {
  const { agent, turns } = counting("HEARTBEAT_OK");
  const heartbeat = { times: { every: "1h" }, joinMs: 3_600_000, ack: "HEARTBEAT_OK" };
  const earlier = await startDispatch({ agent, settings: { heartbeat } });
  await earlier.accept({ kind: "wake", text: "a" });
  await expect.poll(() => turns.length).toBe(1);
  await expect.poll(() => earlier.journal.stats()).toMatchObject({ pendingSystemEvents: 0 });
  await earlier.accept({ kind: "wake", text: "b" });
  await earlier.dispatcher.close(2000);
  await earlier.journal.close();
  expect(turns).toHaveLength(1);
  service = await startDispatch({ agent, settings: { heartbeat }, folder: earlier.folder });
  await pendingEvents(0);
  expect(turns).toHaveLength(2);
});

test("a node that stops gives the heartbeats to another one while its runs are still in progress", async () => {
  const gate = createGate();
  const agent = scripted(async ({ message }) => {
    if (message === "long") await gate.passed;
    return "HEARTBEAT_OK";
  });
  const stopping = await startDispatch({ agent, open: openPostgres });
  await stopping.accept({ kind: "wake", text: "first" });
  await expect.poll(() => stopping.journal.stats()).toMatchObject({ pendingSystemEvents: 0 });
  await stopping.accept({ message: "long" });
  await expect.poll(() => stopping.dispatcher.status().runningRuns).toBe(1);
  service = await startDispatch({ agent, open: openPostgres, folder: stopping.folder });

  const stopped = stopping.dispatcher.close(60_000);
  await service.accept({ kind: "wake", text: "second" });
  await pendingEvents(0);
  expect(stopping.dispatcher.status().runningRuns).toBe(1);
  gate.open();
  await stopped;
  await stopping.journal.close();
});

test("one at a time", async () => {
  let atOnce = 0;
  let most = 0;
  const agent = scripted(async () => {
    most = Math.max(most, ++atOnce);
    await pause(20);
    atOnce -= 1;
    return "HEARTBEAT_OK";
  });
  service = await startDispatch({ agent });
  for (let wake = 0; wake < 10; wake += 1) {
    await service.accept({ kind: "wake", text: String(wake) });
    await pause(10);
  }
  await pendingEvents(0);
  expect(most).toBe(1);
});

test("a failed turn consumes nothing and is retried", async () => {
  let attempts = 0;
  const agent = scripted(() => {
    attempts += 1;
    if (attempts === 1) throw new DriverError("busy", { retryable: true });
    return "HEARTBEAT_OK";
  });
  service = await startDispatch({ agent });
  await service.accept({ kind: "wake", text: "x" });
  await expect.poll(() => runs("dead")).toMatchObject([{ kind: "heartbeat", error: "busy" }]);
  await pendingEvents(0);
  expect(attempts).toBe(2);
});

test("a turn gets the main session's earlier turns", async () => {
  const { agent, turns } = counting("HEARTBEAT_OK");
  service = await startDispatch({ agent });
  await service.accept({ kind: "wake", text: "one" });
  await pendingEvents(0);
  await service.accept({ kind: "wake", text: "two" });
  await pendingEvents(0);
  expect(turns[1]?.history).toMatchObject([
    { role: "user", text: expect.stringContaining("one") },
    { role: "assistant", text: "HEARTBEAT_OK" },
  ]);
});

describe("a run's summary", () => {
  test("requests a heartbeat if its wakeMode is now", async () => {
    service = await startDispatch({ agent: createEcho() });
    await service.accept({ wakeMode: "now" });
    await expect.poll(() => runs("done")).toHaveLength(2);
    await pendingEvents(0);
  });

  test("requests one also if the run is dead", async () => {
    const agent = scripted(({ kind }) => {
      if (kind === "hook") throw new DriverError("no such model", { retryable: false });
      return "HEARTBEAT_OK";
    });
    service = await startDispatch({ agent });
    await service.accept({ wakeMode: "now" });
    await expect.poll(() => runs("done")).toMatchObject([{ kind: "heartbeat" }]);
  });
});

test("a request before a stop leads to a heartbeat after the start", async () => {
  const first = await startDispatch({ agent: createEcho() });
  await first.dispatcher.close(100);
  await first.accept({ kind: "wake", text: "urgent" });
  await first.journal.close();
  service = await startDispatch({ agent: createEcho(), folder: first.folder });
  await expect.poll(() => runs("done")).toMatchObject([{ kind: "heartbeat" }]);
});

describe("the reply", () => {
  test("is delivered to the route used last when it is more than the ack", async () => {
    const channel = recorder();
    const agent = scripted(({ kind }) => (kind === "hook" ? "hi" : "look here"));
    service = await startDispatch({ agent, channel });
    await service.accept({ deliver: true, channel: "slack", to: "C1" });
    await expect.poll(() => channel.sent).toHaveLength(1);
    await service.accept({ kind: "wake", text: "x" });
    await expect.poll(() => channel.sent).toMatchObject([{ text: "hi" }, { to: "C1", text: "look here" }]);
  });

  test("is not delivered when it is only the ack", async () => {
    const channel = recorder();
    service = await startDispatch({ agent: scripted(() => "**HEARTBEAT_OK** nothing new"), channel });
    await service.accept({ kind: "wake", text: "x" });
    await pendingEvents(0);
    expect(await service.journal.listDeliveries({ limit: 10 })).toEqual([]);
  });

  test("is stored with a warning if no channel has been used yet", async () => {
    service = await startDispatch({ agent: scripted(() => "look here"), channel: recorder() });
    await service.accept({ kind: "wake", text: "x" });
    await pendingEvents(0);
    expect(await runs("done")).toMatchObject([
      {
        reply: "look here",
        warnings: [
          "The reply was not delivered: set agents.defaults.heartbeat.channel and agents.defaults.heartbeat.to.",
        ],
      },
    ]);
    expect(await service.journal.listDeliveries({ limit: 10 })).toEqual([]);
  });
});

test("more events than fit in one turn are spread over several, none twice", async () => {
  const { agent, turns } = counting("HEARTBEAT_OK");
  service = await startDispatch({ agent });
  const text = "x".repeat(90_000);
  const wakes = ["a", "b", "c", "d", "e"].map((mark) => ({ kind: "wake", mode: "now", text: text + mark }) as const);
  await service.accept(...wakes);
  await pendingEvents(0);
  expect(turns.map(({ message }) => message.match(/x[a-e]/g))).toEqual([["xa", "xb"], ["xc", "xd"], ["xe"]]);
});

function counting(reply: string, passed: Promise<void> = Promise.resolve()) {
  const turns: AgentTurn[] = [];
  const agent = scripted(async (turn) => {
    turns.push(turn);
    await passed;
    return reply;
  });
  return { agent, turns };
}

function runs(state: "done" | "dead") {
  return service.journal.listRuns({ limit: 10, state });
}

async function pendingEvents(count: number): Promise<void> {
  const read = () => service.journal.pendingSystemEvents();
  await expect.poll(read, { interval: 10 }).toHaveLength(count);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
