import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, test } from "vitest";
import {
  type DispatchService,
  type DispatchSetup,
  scripted,
  startDispatch,
  untilAborted,
} from "../../../test/support/dispatch.ts";
import { createGate } from "../../../test/support/gate.ts";
import type { AgentTurn } from "../ports/agent.ts";
import { createEcho } from "../../agents/echo.ts";
import { DriverError } from "../errors.ts";
import type { ClaimedRun } from "../journal/journal.ts";
import type { RunLimit } from "../journal/records/run.ts";

let service: DispatchService;
afterEach(() => service.close());

test("an echo run is done, its session holds the turn, the main session the summary", async () => {
  service = await startDispatch({ agent: createEcho() });
  const [runId] = await service.accept({ sessionKey: "s", message: "ping" });
  await runsInState("done", 1);
  const session = await service.journal.getSession("s", { limit: 10 });
  expect(session?.entries).toMatchObject([
    { role: "user", text: "ping", runId },
    { role: "assistant", text: "[echo: no model is configured] ping", runId },
  ]);
  const main = await service.journal.getSession("main", { limit: 10 });
  expect(main?.entries).toMatchObject([
    { role: "system", text: "Hook Test: [echo: no model is configured] ping", pending: true },
  ]);
});

test("a reused session gets its earlier turns, one at a time and in order", async () => {
  const histories: string[][] = [];
  const agent = scripted(async ({ message, history }) => {
    histories.push(history.map(({ text }) => text));
    await pause(5);
    return `re ${message}`;
  });
  service = await startDispatch({ agent });
  for (const message of ["a", "b", "c"]) await service.accept({ sessionKey: "s", message });
  await runsInState("done", 3);
  expect(histories).toEqual([[], ["a", "re a"], ["a", "re a", "b", "re b"]]);
});

test("a canceled turn is aborted, its result is not kept, and its session goes on", async () => {
  const gate = createGate();
  let aborted = 0;
  const agent = scripted(async ({ message }, signal) => {
    if (message === "next") return "after it";
    await Promise.race([gate.passed, untilAborted(signal).catch(() => aborted++)]);
    return "too late";
  });
  service = await startDispatch({ agent });
  const [first = ""] = await service.accept({ sessionKey: "s", message: "first" });
  await runsInState("running", 1);
  await service.accept({ sessionKey: "s", message: "next" });
  const end = { finishedAt: Date.now(), error: "canceled", entries: [] };
  expect(await service.journal.cancelRun(first, end)).toBe(true);
  await expect.poll(() => aborted).toBe(1);
  await runsInState("done", 1);
  gate.open();
  expect(await service.journal.getRun(first)).toMatchObject({ state: "canceled", error: "canceled" });
  const session = await service.journal.getSession("s", { limit: 10 });
  expect(session?.entries.map(({ text }) => text)).toEqual(["next", "after it"]);
});

test("a run that another node has returned, and this one has claimed again, is not aborted with its lost attempt", async () => {
  const gate = createGate();
  const claims: ClaimedRun[] = [];
  const started: string[] = [];
  let aborted = 0;
  const agent = scripted(async ({ message }, signal) => {
    started.push(message);
    await Promise.race([gate.passed, untilAborted(signal).catch(() => aborted++)]);
    return "done";
  });
  const wrap: DispatchSetup["wrap"] = (journal) => ({
    ...journal,
    async claimRuns(...args) {
      const claimed = await journal.claimRuns(...args);
      claims.push(...claimed);
      return claimed;
    },
  });
  service = await startDispatch({ agent, wrap });
  const [returned = ""] = await service.accept({ sessionKey: "s", message: "returned" });
  await expect.poll(() => started).toHaveLength(1);
  await service.journal.retryRun(claims[0]!, Date.now(), "interrupted");
  await expect.poll(() => started).toEqual(["returned", "returned"]);
  // Lost claims are looked for when any run is canceled.
  const [other = ""] = await service.accept({ sessionKey: "other", message: "other" });
  await expect.poll(() => started).toHaveLength(3);
  await service.journal.cancelRun(other, { finishedAt: Date.now(), error: "canceled", entries: [] });
  await expect.poll(() => aborted).toBeGreaterThan(1);
  gate.open();
  await expect.poll(() => service.journal.getRun(returned)).toMatchObject({ state: "done" });
});

test("different sessions run concurrently up to maxConcurrent, and a blocked one delays nothing", async () => {
  let atOnce = 0;
  let most = 0;
  const gate = createGate();
  const agent = scripted(async ({ message }, signal) => {
    if (message === "stuck") return untilAborted(signal);
    most = Math.max(most, ++atOnce);
    await gate.passed;
    atOnce -= 1;
    return "ok";
  });
  service = await startDispatch({ agent, settings: { maxConcurrent: 3 } });
  await service.accept({ sessionKey: "stuck", message: "stuck" });
  for (let run = 0; run < 12; run += 1) await service.accept({ sessionKey: `s${run}` });
  await expect.poll(() => atOnce).toBe(2);
  gate.open();
  await runsInState("done", 12);
  expect(most).toBe(2);
  expect(service.dispatcher.status().runningRuns).toBe(1);
  await service.dispatcher.close(10);
});

describe("time", () => {
  test("a run that times out is dead after one attempt, and its late reply is dropped", async () => {
    const turns: AgentTurn[] = [];
    let finish = (_text: string): void => undefined;
    const agent = scripted((turn) => {
      turns.push(turn);
      return new Promise((resolve) => (finish = resolve));
    });
    service = await startDispatch({ agent });
    await service.accept({ sessionKey: "s", timeoutSeconds: 0.05 });
    await runsInState("dead", 1);
    finish("too late");
    await pause(20);
    expect(turns).toHaveLength(1);
    expect((await service.journal.getSession("s", { limit: 10 }))?.entries).toEqual([]);
    const main = await service.journal.getSession("main", { limit: 10 });
    expect(main?.entries).toMatchObject([{ text: "Hook Test (error): timed out after 0.05 s" }]);
    expect(await service.journal.listDeliveries({ limit: 10 })).toEqual([]);
  });

  test("the agent's signal aborts", async () => {
    let reason: unknown;
    const agent = scripted((_turn, signal) => {
      signal.addEventListener("abort", () => (reason = signal.reason));
      return untilAborted(signal);
    });
    service = await startDispatch({ agent });
    await service.accept({ timeoutSeconds: 0.05 });
    const [run] = await runsInState("dead", 1);
    expect(reason).toMatchObject({ name: "TurnTimeout" });
    expect(run).toMatchObject({ attempts: 1, error: "timed out after 0.05 s" });
  });
});

describe("failures", () => {
  test("a retryable failure is retried, in the order of the session", async () => {
    const seen: string[] = [];
    const agent = scripted(({ message }) => {
      seen.push(message);
      if (seen.length < 3) throw new DriverError("busy", { retryable: true, retryAfterMs: 5 });
      return "ok";
    });
    service = await startDispatch({ agent });
    await service.accept({ sessionKey: "s", message: "first" });
    await service.accept({ sessionKey: "s", message: "second" });
    const runs = await runsInState("done", 2);
    expect(seen).toEqual(["first", "first", "first", "second"]);
    expect(runs.map(({ attempts }) => attempts)).toEqual([1, 3]);
  });

  test("after maxAttempts it is dead, with a summary, and the next of the session runs", async () => {
    let attempts = 0;
    const agent = scripted(({ message }) => {
      if (message === "next") return "ok";
      attempts += 1;
      throw new DriverError("busy", { retryable: true, retryAfterMs: 1 });
    });
    service = await startDispatch({ agent, settings: { maxAttempts: 2 } });
    await service.accept({ sessionKey: "s" });
    await service.accept({ sessionKey: "s", message: "next" });
    await runsInState("done", 1);
    expect(attempts).toBe(2);
    const [dead] = await runsInState("dead", 1);
    expect(dead).toMatchObject({ error: "busy", attempts: 2 });
    const [event] = await service.journal.listEvents({ limit: 1, status: "failed" });
    expect(event).toBeDefined();
    const main = await service.journal.getSession("main", { limit: 10 });
    expect(main?.entries.map(({ text }) => text)).toEqual(["Hook Test (error): busy", "Hook Test: ok"]);
  });

  test("a permanent failure is dead at once", async () => {
    let attempts = 0;
    const agent = scripted(() => {
      attempts += 1;
      throw new DriverError("no such model", { retryable: false });
    });
    service = await startDispatch({ agent });
    await service.accept({});
    await runsInState("dead", 1);
    expect(attempts).toBe(1);
  });

  test("an unexpected error of a driver is retried too", async () => {
    let attempts = 0;
    const agent = scripted(() => {
      attempts += 1;
      if (attempts === 1) throw new TypeError("x is not a function");
      return "ok";
    });
    service = await startDispatch({ agent });
    await service.accept({});
    const [run] = await runsInState("done", 1);
    expect(run?.attempts).toBe(2);
  });
});

test("while the journal cannot write, a reply is kept; the agent is not asked again", async () => {
  let asked = 0;
  let reply = (_text: string): void => undefined;
  const agent = scripted(() => {
    asked += 1;
    return new Promise((resolve) => (reply = resolve));
  });
  service = await startDispatch({ agent });
  await service.accept({});
  await expect.poll(() => asked).toBe(1);
  const other = new DatabaseSync(path.join(service.folder, "journal.db"));
  other.exec("BEGIN IMMEDIATE");
  reply("kept");
  await pause(250);
  expect((await service.journal.listRuns({ limit: 1 }))[0]?.state).toBe("running");
  other.exec("ROLLBACK");
  other.close();
  const [run] = await runsInState("done", 1);
  expect(run?.reply).toBe("kept");
  expect(asked).toBe(1);
});

describe("close", () => {
  test("waits for work in progress and claims nothing more", async () => {
    const gate = createGate();
    const agent = scripted(async () => {
      await gate.passed;
      return "ok";
    });
    service = await startDispatch({ agent, settings: { maxConcurrent: 1 } });
    await service.accept({}, {});
    await expect.poll(() => service.dispatcher.status().runningRuns).toBe(1);
    const closed = service.dispatcher.close(60_000);
    gate.open();
    await closed;
    expect(await states()).toEqual(["ready", "done"]);
  });

  test("aborts what takes too long; it runs again after the restart", async () => {
    const stuck = scripted(() => new Promise(() => undefined));
    const first = await startDispatch({ agent: stuck });
    await first.accept({ sessionKey: "s" });
    await expect.poll(() => first.dispatcher.status().runningRuns).toBe(1);
    await first.dispatcher.close(10);
    expect((await first.journal.listRuns({ limit: 1 }))[0]).toMatchObject({ state: "ready", attempts: 0 });
    await first.journal.close();

    service = await startDispatch({ agent: createEcho(), folder: first.folder });
    const [run] = await runsInState("done", 1);
    expect(run?.attempts).toBe(1);
  });

  test("leaves a retry for the next start, which executes it when it is due", async () => {
    const failing = scripted(() => {
      throw new DriverError("busy", { retryable: true, retryAfterMs: 300 });
    });
    // A slow machine may make several attempts before the stop.
    const first = await startDispatch({ agent: failing, settings: { maxAttempts: 1000 } });
    await first.accept({});
    await expect.poll(async () => (await first.journal.listRuns({ limit: 1 }))[0]?.error).toBe("busy");
    await first.dispatcher.close(60_000);
    const [left] = await first.journal.listRuns({ limit: 1 });
    expect(left).toMatchObject({ state: "ready", error: "busy" });
    await first.journal.close();

    service = await startDispatch({ agent: createEcho(), folder: first.folder });
    const [run] = await runsInState("done", 1);
    expect(run?.startedAt).toBeGreaterThanOrEqual(left!.dueAt);
  });
});

async function states(): Promise<string[]> {
  return (await service.journal.listRuns({ limit: 100 })).map(({ state }) => state);
}

/** Waits until this many hook runs are in the state; newest first. */
async function runsInState(state: "done" | "dead" | "running", count: number) {
  const read = async () =>
    (await service.journal.listRuns({ limit: 100, state })).filter(({ kind }) => kind === "hook");
  await expect.poll(read, { interval: 5 }).toHaveLength(count);
  return read();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

test("a turn does not start once another node has its run, because the journal was away until the lease ended", async () => {
  const seen: string[] = [];
  const agent = scripted(({ message }) => {
    seen.push(message);
    return "ok";
  });
  const claims: ClaimedRun[] = [];
  const read = createGate();
  service = await startDispatch({
    agent,
    settings: { maxConcurrent: 1 },
    wrap: (journal) => ({
      ...journal,
      async claimRuns(limit, now, limits) {
        const runs = await journal.claimRuns(limit, now, limits);
        claims.push(...runs);
        return runs;
      },
      keepLease: async () => false,
      async history(sessionKey, limit) {
        await journal.retryRun(claims[0]!, 0, "its node is gone");
        const [again] = await journal.claimRuns(1, Date.now());
        const entries = await journal.history(sessionKey, limit);
        claims.push(again!);
        read.open();
        return entries;
      },
    }),
  });
  const [runId] = await service.accept({ sessionKey: "s", message: "ping" });
  await read.passed;
  await expect.poll(() => service.dispatcher.status().runningRuns).toBe(0);
  expect(seen).toEqual([]);
  expect(await service.journal.getRun(runId!)).toMatchObject({ state: "running", attempts: 2 });
});

test("a run that becomes due while the next time is looked up is claimed at once", async () => {
  const order: string[] = [];
  let attempts = 0;
  const agent = scripted(() => {
    attempts += 1;
    if (attempts === 1) throw new DriverError("busy", { retryable: true, retryAfterMs: 50 });
    order.push("run");
    return "ok";
  });
  service = await startDispatch({
    agent,
    wrap: (journal) => ({
      ...journal,
      async nextDueAt(limits) {
        const dueAt = await journal.nextDueAt(limits);
        if (attempts === 1 && dueAt !== undefined && dueAt < Date.now() + 1000) {
          await pause(Math.max(dueAt - Date.now(), 0) + 5);
          setTimeout(() => order.push("later"), 300);
        }
        return dueAt;
      },
    }),
  });
  await service.accept({});
  await expect.poll(() => order).toContain("run");
  expect(order[0]).toBe("run");
});

// Without the check, the limits would be read again after a minute.
test("limits that a reload has removed hold nothing back", { timeout: 45_000 }, async () => {
  // The limit for events without a mapping.
  const limits: Map<string, RunLimit> = new Map([["", { rate: { max: 1, perMs: 3_600_000 } }]]);
  let lookedUp = 0;
  service = await startDispatch({
    agent: createEcho(),
    limits,
    wrap: (journal) => ({
      ...journal,
      async nextDueAt(current) {
        const dueAt = await journal.nextDueAt(current);
        if (dueAt !== undefined && dueAt > Date.now() + 60_000) lookedUp += 1;
        return dueAt;
      },
    }),
  });
  await service.accept({}, {});
  await expect.poll(() => lookedUp).toBeGreaterThan(0);
  limits.clear();
  service.dispatcher.recheck();
  await runsInState("done", 2);
});
