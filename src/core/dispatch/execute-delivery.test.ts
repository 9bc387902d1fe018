import { afterEach, describe, expect, test } from "vitest";
import { createGate } from "../../../test/support/gate.ts";
import {
  type DispatchService,
  recorder,
  scripted,
  startDispatch,
  untilAborted,
} from "../../../test/support/dispatch.ts";
import { DriverError } from "../errors.ts";
import type { ClaimedDelivery, Delivery, Route } from "../journal/journal.ts";
import type { ChannelName } from "../types.ts";
import { resolveRoute } from "./execute-delivery.ts";

describe("executeDelivery", () => {
  const agent = scripted(({ message }) => message);
  const toC1 = { deliver: true, channel: "slack", to: "C1" } as const;

  let service: DispatchService;
  afterEach(() => service.close());

  test("a reply is split at the channel's limit and sent in order, each part with its own key", async () => {
    const channel = recorder();
    service = await startDispatch({ agent, channel });
    await service.accept({ ...toC1, message: "one two three four five" });
    const delivery = await settled("sent");
    expect(channel.sent.map(({ text }) => text).join(" ")).toBe("one two three four five");
    expect(channel.sent.map(({ idempotencyKey }) => idempotencyKey)).toEqual(
      channel.sent.map((_, index) => `${delivery.id}:${index}`),
    );
    expect(delivery).toMatchObject({ partsSent: channel.sent.length, route: { channel: "slack", to: "C1" } });
    const [event] = await service.journal.listEvents({ limit: 1 });
    expect(event?.status).toBe("done");
  });

  test("after a failure it continues after the last sent part, to the same recipient", async () => {
    let calls = 0;
    const channel = recorder(() => {
      calls += 1;
      if (calls === 2) throw new DriverError("rate limited", { retryable: true, retryAfterMs: 20 });
    });
    service = await startDispatch({ agent, channel });
    await service.accept({ ...toC1, message: "aaaaaaaaa bbbbbbbbb ccccccccc" });
    const delivery = await settled("sent");
    expect(channel.sent.map(({ text }) => text)).toEqual(["aaaaaaaaa", "bbbbbbbbb", "ccccccccc"]);
    expect(delivery.attempts).toBe(2);
  });

  test("after a restart it continues after the last sent part", async () => {
    const stuck = recorder(({ text }, signal) => {
      if (text === "bbbbbbbbb") return untilAborted(signal);
      return undefined;
    });
    const first = await startDispatch({ agent, channel: stuck });
    await first.accept({ ...toC1, message: "aaaaaaaaa bbbbbbbbb" });
    await expect.poll(async () => (await first.journal.listDeliveries({ limit: 1 }))[0]?.partsSent).toBe(1);
    await first.dispatcher.close(10);
    await first.journal.close();

    const channel = recorder();
    service = await startDispatch({ agent, channel, folder: first.folder });
    await settled("sent");
    expect(channel.sent.map(({ text }) => text)).toEqual(["bbbbbbbbb"]);
  });

  test("nothing is sent once another node has the delivery, because the journal was away until the lease ended", async () => {
    const channel = recorder();
    let claimed: ClaimedDelivery | undefined;
    const read = createGate();
    service = await startDispatch({
      agent,
      channel,
      wrap: (journal) => ({
        ...journal,
        keepLease: async () => false,
        async claimDeliveries(limit, now) {
          const deliveries = await journal.claimDeliveries(limit, now);
          // Later claims are those of the other node.
          if (claimed) return [];
          claimed = deliveries[0];
          return deliveries;
        },
        async lastRoute(name) {
          await journal.retryDelivery(claimed!, 0, "its node is gone");
          await journal.claimDeliveries(1, Date.now());
          read.open();
          return journal.lastRoute(name);
        },
      }),
    });
    await service.accept({ ...toC1, message: "hello" });
    await read.passed;
    await expect.poll(() => service.dispatcher.status().runningDeliveries).toBe(0);
    expect(channel.sent).toEqual([]);
    expect(await service.journal.listDeliveries({ limit: 1 })).toMatchObject([{ state: "sending", attempts: 2 }]);
  });

  test("an attempt after an unknown result says that the message may be there already", async () => {
    let calls = 0;
    const channel = recorder(() => {
      calls += 1;
      if (calls === 2) throw new DriverError("cut off", { retryable: true, retryAfterMs: 1 });
    });
    service = await startDispatch({ agent, channel });
    await service.accept({ ...toC1, message: "aaaaaaaaa bbbbbbbbb ccccccccc" });
    await settled("sent");
    expect(channel.sent.map(({ mayBeSent }) => mayBeSent)).toEqual([undefined, true, undefined]);
  });

  test("with update, each part replaces that of the session's earlier reply at the same place, and the rest is removed", async () => {
    const channel = updatable();
    service = await startDispatch({ agent, channel });
    const inS = { ...toC1, toSource: true, update: true, sessionKey: "s" } as const;
    await service.accept({ ...inS, message: "aaaaaaaaa bbbbbbbbb ccccccccc" });
    await settled("sent");
    await service.accept({ ...inS, message: "ddddddddd eeeeeeeee" });
    await service.accept({ ...inS, message: "f", to: "C2" });
    await service.accept({ ...inS, message: "g", sessionKey: "t" });
    await expect.poll(() => channel.sent.length).toBe(7);
    const replaced = Object.fromEntries(channel.sent.map(({ text, replaces }) => [text, replaces]));
    expect(replaced).toMatchObject({ aaaaaaaaa: undefined, ccccccccc: undefined, ddddddddd: "m1", eeeeeeeee: "m2" });
    expect(replaced).toMatchObject({ f: undefined, g: undefined });
    expect(channel.removed).toEqual(["m3"]);
    await expect.poll(async () => (await service.journal.listDeliveries({ limit: 9, state: "sent" })).length).toBe(4);
    await service.accept({ ...inS, message: "hhhhhhhhh iiiiiiiii jjjjjjjjj" });
    await expect.poll(() => channel.sent.length).toBe(10);
    expect(channel.sent.slice(-3).map(({ replaces }) => replaces)).toEqual(["m1", "m2", undefined]);
  });

  test("the first part of a session's first reply opens its thread, and all later parts go into it", async () => {
    const channel = threaded();
    service = await startDispatch({ agent, channel });
    const inS = { ...toC1, thread: "session", sessionKey: "s" } as const;
    await service.accept({ ...inS, message: "aaaaaaaaa bbbbbbbbb" });
    await settled("sent");
    await service.accept({ ...inS, message: "c" });
    await service.accept({ ...inS, message: "d", sessionKey: "t" });
    await service.accept({ ...inS, message: "e", to: "C2" });
    await service.accept({ ...inS, message: "f", to: "C1:1" });
    await service.accept({ ...inS, message: "g", thread: undefined });
    await expect.poll(() => channel.sent.length).toBe(7);
    expect(Object.fromEntries(channel.sent.map(({ text, thread }) => [text, thread]))).toEqual({
      aaaaaaaaa: { to: undefined },
      bbbbbbbbb: { to: "C1:aaaaaaaaa" },
      c: { to: "C1:aaaaaaaaa" },
      d: { to: undefined },
      e: { to: undefined },
      f: undefined,
      g: undefined,
    });
  });

  test("after a crash between two parts, the rest goes into the thread that the first one opened", async () => {
    const stuck = threaded(({ text }, signal) => (text === "bbbbbbbbb" ? untilAborted(signal) : undefined));
    const first = await startDispatch({ agent, channel: stuck });
    await first.accept({ ...toC1, thread: "session", sessionKey: "s", message: "aaaaaaaaa bbbbbbbbb" });
    await expect.poll(async () => (await first.journal.listDeliveries({ limit: 1 }))[0]?.partsSent).toBe(1);
    await first.dispatcher.close(10);
    await first.journal.close();
    const channel = threaded();
    service = await startDispatch({ agent, channel, folder: first.folder });
    await settled("sent");
    expect(channel.sent.map(({ thread }) => thread)).toEqual([{ to: "C1:aaaaaaaaa" }]);
    expect(await service.journal.listThreads("s")).toEqual([
      { channel: channel.name, to: "C1", thread: "C1:aaaaaaaaa" },
    ]);
  });

  /** A channel whose threads are named by the text that opened them. */
  function threaded(...rest: Parameters<typeof recorder>): ReturnType<typeof recorder> {
    const channel = recorder(...rest);
    return {
      ...channel,
      isThread: (to) => to.includes(":"),
      async send(message, signal) {
        await channel.send(message, signal);
        const thread = message.thread && (message.thread.to ?? `${message.to}:${message.text}`);
        return { messageId: message.text, thread };
      },
    };
  }

  test("a message that cannot be removed delays nothing", async () => {
    const channel = { ...updatable(), remove: () => Promise.reject(new Error("no permission")) };
    service = await startDispatch({ agent, channel });
    const inS = { ...toC1, toSource: true, update: true, sessionKey: "s" } as const;
    await service.accept({ ...inS, message: "aaaaaaaaa bbbbbbbbb" });
    await settled("sent");
    await service.accept({ ...inS, message: "c" });
    await expect.poll(async () => (await service.journal.listDeliveries({ limit: 9, state: "sent" })).length).toBe(2);
  });

  /** A channel whose messages have the ids m1, m2 … */
  function updatable(): ReturnType<typeof recorder> & { removed: string[] } {
    const channel = recorder();
    const { send } = channel;
    const removed: string[] = [];
    let count = 0;
    return {
      ...channel,
      canUpdate: true,
      removed,
      async send(message, signal) {
        await send(message, signal);
        return { messageId: message.replaces ?? `m${(count += 1)}` };
      },
      async remove(_, messageId) {
        removed.push(messageId);
      },
    };
  }

  test("a reply is Markdown, and a text that is passed on is not", async () => {
    const channel = recorder();
    service = await startDispatch({ agent, channel });
    await service.accept({ ...toC1, message: "a" });
    await service.accept({ ...toC1, to: "C2", toSource: true, message: "b" });
    await service.accept({ ...toC1, to: "C3", agent: "none", message: "c" });
    await expect.poll(() => channel.sent.length).toBe(3);
    expect(Object.fromEntries(channel.sent.map(({ text, format }) => [text, format]))).toEqual({
      a: "markdown",
      b: "markdown",
      c: undefined,
    });
  });

  test("a reply has at most ten parts, and the last says where the rest is", async () => {
    const channel = { ...recorder(), limit: 60 };
    service = await startDispatch({ agent, channel });
    await service.accept({ ...toC1, message: "word ".repeat(500) });
    expect(await settled("sent")).toMatchObject({ partsSent: 10 });
    expect(channel.sent).toHaveLength(10);
    expect(channel.sent.every(({ text }) => text.length <= 60)).toBe(true);
    expect(channel.sent.at(-1)?.text).toBe("word word word word word\n\ncontinued on the operator's page");
  });

  test("until the reply to its source is there, the channel shows that it is being written, whatever becomes of the mark", async () => {
    const calls: string[] = [];
    const channel: ReturnType<typeof recorder> = {
      ...recorder(({ to }) => void calls.push(`reply ${to}`)),
      async startWorking(to) {
        calls.push(`start ${to}`);
        if (to === "C2") throw new Error("no reaction");
        return async () => void calls.push("stop");
      },
    };
    service = await startDispatch({ agent, channel });
    await service.accept({ ...toC1, toSource: true });
    await expect.poll(() => calls).toEqual(["start C1", "reply C1", "stop"]);
    await service.accept({ ...toC1, to: "C2", toSource: true });
    await service.accept({ ...toC1, to: "C3" });
    await expect.poll(async () => (await service.journal.listDeliveries({ limit: 9, state: "sent" })).length).toBe(3);
    expect(calls.filter((call) => !call.startsWith("reply"))).toEqual(["start C1", "stop", "start C2"]);
  });

  test("the sign that a reply is being written stays through failed turns and sends", async () => {
    const calls: string[] = [];
    let failures = 2;
    const fail = (what: string): void => {
      calls.push(what);
      failures -= 1;
      if (failures >= 0) throw new DriverError("not now", { retryable: true, retryAfterMs: 1 });
    };
    const channel: ReturnType<typeof recorder> = {
      ...recorder(() => fail("reply")),
      async startWorking() {
        calls.push("start");
        return async () => void calls.push("stop");
      },
    };
    const failing = scripted(() => {
      if (calls.length === 1) fail("turn");
      return "Done.";
    });
    service = await startDispatch({ agent: failing, channel });
    await service.accept({ ...toC1, toSource: true });
    await expect.poll(() => calls).toEqual(["start", "turn", "reply", "reply", "stop"]);
  });

  test("the sign that a crashed process has left is removed with the reply", async () => {
    const stuck = recorder((_, signal) => untilAborted(signal));
    const first = await startDispatch({ agent, channel: stuck });
    await first.accept({ ...toC1, toSource: true });
    await expect.poll(() => stuck.sent.length + first.dispatcher.status().runningDeliveries).toBe(1);
    await first.dispatcher.close(10);
    await first.journal.close();

    const calls: string[] = [];
    const channel: ReturnType<typeof recorder> = {
      ...recorder(() => void calls.push("reply")),
      async startWorking() {
        calls.push("found");
        return async () => void calls.push("removed");
      },
    };
    service = await startDispatch({ agent, channel, folder: first.folder });
    await expect.poll(() => calls).toEqual(["found", "reply", "removed"]);
  });

  test("a Retry-After is respected", async () => {
    const calls: number[] = [];
    const channel = recorder(() => {
      calls.push(performance.now());
      if (calls.length === 1) throw new DriverError("rate limited", { retryable: true, retryAfterMs: 300 });
    });
    service = await startDispatch({ agent, channel });
    await service.accept(toC1);
    await settled("sent");
    expect((calls[1] ?? 0) - (calls[0] ?? 0)).toBeGreaterThanOrEqual(299);
  });

  test("a blocked recipient does not delay others, and its own deliveries wait in order", async () => {
    const releases: (() => void)[] = [];
    const channel = recorder(({ to }) => {
      if (to === "C1") return new Promise((resolve) => releases.push(resolve));
      return undefined;
    });
    service = await startDispatch({ agent, channel });
    await service.accept({ ...toC1, message: "1" });
    await expect.poll(() => releases).toHaveLength(1);
    await service.accept({ ...toC1, message: "2" });
    await service.accept({ ...toC1, to: "C2", message: "other" });
    await expect.poll(() => channel.sent.map(({ text }) => text)).toEqual(["other"]);
    expect(releases).toHaveLength(1);
    releases[0]?.();
    await expect.poll(() => releases).toHaveLength(2);
    releases[1]?.();
    await expect.poll(() => channel.sent.map(({ text }) => text)).toEqual(["other", "1", "2"]);
  });

  describe("fails permanently", () => {
    test("if the service says so, and the event has failed", async () => {
      const channel = recorder(() => {
        throw new DriverError("channel_not_found", { retryable: false });
      });
      service = await startDispatch({ agent, channel });
      await service.accept(toC1);
      expect(await settled("failed")).toMatchObject({ attempts: 1, error: "channel_not_found" });
      expect((await service.journal.listEvents({ limit: 1 }))[0]?.status).toBe("failed");
    });

    test("if the channel is not configured", async () => {
      service = await startDispatch({ agent, channel: recorder() });
      await service.accept({ ...toC1, channel: "signal" });
      expect((await settled("failed")).error).toMatch(/signal is not configured/);
    });

    test("if no recipient is known", async () => {
      service = await startDispatch({ agent, channel: recorder() });
      await service.accept({ deliver: true, channel: "slack" });
      expect((await settled("failed")).error).toMatch(/no recipient is known for slack/);
    });

    test("if the recipient has the wrong form for the channel", async () => {
      const channel = recorder();
      channel.checkRecipient = () => {
        throw new DriverError("to must look like C0123456", { retryable: false });
      };
      service = await startDispatch({ agent, channel });
      await service.accept(toC1);
      expect((await settled("failed")).error).toMatch(/C0123456/);
    });
  });

  describe("the route", () => {
    test("last is the route used last", async () => {
      const channel = recorder();
      service = await startDispatch({ agent, channel });
      await service.accept({ ...toC1, message: "first" });
      await settled("sent");
      await service.accept({ deliver: true, message: "second" });
      await expect.poll(() => channel.sent[1]).toMatchObject({ to: "C1", text: "second" });
    });

    test("a channel without a recipient uses the last one on it", async () => {
      const channel = recorder();
      service = await startDispatch({ agent, channel });
      await service.accept({ ...toC1, message: "first" });
      await settled("sent");
      await service.accept({ deliver: true, channel: "slack", message: "second" });
      await expect.poll(() => channel.sent[1]).toMatchObject({ to: "C1", text: "second" });
    });
  });

  describe("is not created", () => {
    test.each([
      ["deliver is false", { ...toC1, deliver: false }],
      ["the reply is only the ack", { ...toC1, message: "HEARTBEAT_OK" }],
    ])("when %s", async (_, action) => {
      service = await startDispatch({ agent, channel: recorder() });
      await service.accept(action);
      await expect.poll(() => service.journal.listRuns({ limit: 1, state: "done" })).toHaveLength(1);
      expect(await service.journal.listDeliveries({ limit: 10 })).toEqual([]);
    });
  });

  test("is skipped if no channel was used yet and none is named; the event is done", async () => {
    service = await startDispatch({ agent, channel: recorder() });
    await service.accept({ deliver: true });
    expect((await settled("skipped")).error).toMatch(/no channel has been used yet/);
    expect((await service.journal.listEvents({ limit: 1 }))[0]?.status).toBe("done");
  });

  /** Waits until a delivery is in this state. */
  async function settled(state: "sent" | "skipped" | "failed"): Promise<Delivery> {
    const read = async () => (await service.journal.listDeliveries({ limit: 1, state }))[0];
    await expect.poll(read, { interval: 5 }).toBeDefined();
    const delivery = await read();
    if (!delivery) throw new Error("the delivery is gone");
    return delivery;
  }
});

describe("resolveRoute", () => {
  /** The routes used so far, the last one last. */
  function journalOf(...routes: Route[]) {
    return {
      lastRoute: async (channel?: ChannelName) =>
        routes.findLast((route) => channel === undefined || route.channel === channel),
    };
  }

  const slack: Route = { channel: "slack", to: "C1" };
  const signal: Route = { channel: "signal", to: "+1" };

  test("last is the route used last", async () => {
    expect(await resolveRoute({ channel: "last" }, journalOf(signal, slack))).toEqual(slack);
  });

  test("last with a recipient is that recipient on the channel used last", async () => {
    expect(await resolveRoute({ channel: "last", to: "C2" }, journalOf(slack))).toEqual({
      ...slack,
      to: "C2",
    });
  });

  test("last is whatsapp if no channel has been used", async () => {
    expect(await resolveRoute({ channel: "last", to: "+2" }, journalOf())).toEqual({
      channel: "whatsapp",
      to: "+2",
    });
  });

  test("last is undefined if no channel has been used and no recipient is named", async () => {
    expect(await resolveRoute({ channel: "last" }, journalOf())).toBeUndefined();
  });

  test("a channel without a recipient uses the last one on it, not another channel's", async () => {
    expect(await resolveRoute({ channel: "signal" }, journalOf(signal, slack))).toEqual(signal);
    await expect(resolveRoute({ channel: "telegram" }, journalOf(signal, slack))).rejects.toThrow("for telegram");
  });

  test("a partly sent delivery keeps its route", async () => {
    expect(await resolveRoute({ channel: "last", route: slack }, journalOf(slack, signal))).toEqual(slack);
  });
});
