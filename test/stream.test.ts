import { isRequest } from "../src/core/shared/words.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { waitFor } from "./support/client.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "./support/service.ts";
import { openStream, type OpenStream, type StreamMessage } from "./support/sse.ts";

let service: Service;
afterEach(() => service.close());

const named = ({ messages }: OpenStream, name: string) => messages.filter(({ event }) => event === name);
const rowsOf = (stream: OpenStream) => named(stream, "event").map(({ data }) => data);

describe("the stream", () => {
  test("opens at once, and shows each event with what became of it in one line", async () => {
    service = await startService({ config: { channels: { slack: { token: "xoxb-1" } } } });
    const stream = await openStream(service.url);
    expect(Object.fromEntries(stream.response.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
    await expect.poll(() => stream.messages).toMatchObject([{ event: "ready", id: expect.stringMatching(/^\d+$/) }]);
    const { body } = await service.post("agent", { message: "hello", deliver: false });
    await expect
      .poll(() => rowsOf(stream).at(-1))
      .toMatchObject({
        id: body.eventId,
        hook: "agent",
        status: "done",
        receivedAt: expect.any(String),
        outcome: expect.stringMatching(/^turn \d/),
        durationMs: expect.any(Number),
      });
    const runs = named(stream, "run").map(({ data }) => data);
    expect(runs).toContainEqual({ id: body.runId, eventId: body.eventId, state: "done" });
    expect(named(stream, "session").map(({ data }) => data)).toContainEqual({ key: "main" });
    const ids = stream.messages.map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
  });

  test("shows dead letters, refused requests and reloads", async () => {
    const agents: UserConfig["agents"] = {
      providers: { broken: { kind: "command", sandbox: false, command: ["false"] } },
      defaults: { model: "broken/x", maxAttempts: 1 },
    };
    service = await startService({ config: { agents } });
    const stream = await openStream(service.url);
    const { body } = await service.post("agent", { message: "hello" });
    const deadLetter = { id: body.runId, eventId: body.eventId };
    await expect.poll(() => named(stream, "dead-letter")).toMatchObject([{ data: { ...deadLetter, isDead: true } }]);
    expect(rowsOf(stream).at(-1)).toMatchObject({
      status: "failed",
      outcome: expect.stringContaining("turn failed: "),
    });
    const authorization = `Bearer ${GATEWAY_TOKEN}`;
    await fetch(`${service.url}/api/dead-letters/${body.runId}`, { method: "DELETE", headers: { authorization } });
    await expect.poll(() => named(stream, "dead-letter").at(-1)?.data).toEqual({ ...deadLetter, isDead: false });

    await fetch(`${service.url}/hooks/wake`, { method: "POST", headers: { authorization: "Bearer wrong" } });
    const rejection = { hook: "wake", reason: "wrong", id: expect.any(String), at: expect.any(String) };
    await expect.poll(() => named(stream, "rejection")).toMatchObject([{ data: rejection }]);
    const { rejections } = await service.api("/api/rejections");
    expect(named(stream, "rejection")[0]?.data).toEqual(rejections[0]);

    await service.reload({ agents });
    await expect
      .poll(() => named(stream, "reload").at(-1)?.data)
      .toMatchObject({ config: { generation: 2 }, lastReloadError: null });
    service.write("webhooks.json5", "{ hooks: { enabeld: true } }");
    await service.hookline.reload().catch(() => undefined);
    await expect
      .poll(() => named(stream, "reload").at(-1)?.data)
      .toMatchObject({ config: { generation: 2 }, lastReloadError: { message: expect.stringContaining("enabeld") } });
  });

  test("is filtered by hook, by status and by session; what has none of these is left out", async () => {
    service = await startService();
    const all = await openStream(service.url);
    await service.post("wake", { text: "x", mode: "next-heartbeat" });
    const { body } = await service.post("agent", { message: "m", sessionKey: "a", deliver: false });
    await service.post("agent", { message: "" });
    // The event may be shown as accepted first.
    const ended = () => rowsOf(all).flatMap(({ status }) => (isRequest(status, "unfinished") ? [] : status));
    await expect.poll(() => new Set(ended())).toEqual(new Set(["refused", "done"]));
    const [first] = all.messages;
    for (const [query, matches] of [
      ["?hook=agent", (row: StreamMessage["data"]) => row.hook === "agent"],
      ["?status=refused", (row: StreamMessage["data"]) => row.status === "refused"],
      [`?session=${encodeURIComponent(body.sessionKey)}`, (row: StreamMessage["data"]) => row.id === body.eventId],
    ] as const) {
      const filtered = await openStream(service.url, { query: `${query}&after=${first?.id}` });
      await expect.poll(() => rowsOf(filtered).length).toBeGreaterThan(0);
      expect(rowsOf(filtered).every(matches)).toBe(true);
      expect(filtered.messages.length).toBe(rowsOf(filtered).length);
    }
  });

  test("shows the answers to requests, also to repeats, if it is asked to", async () => {
    service = await startService();
    const asking = await openStream(service.url, { query: "?answers=true&hook=wake&status=done" });
    const others = await openStream(service.url);
    await expect.poll(() => [asking.messages.length, others.messages.length]).toEqual([1, 1]);
    const headers = { "idempotency-key": "one" };
    const { body } = await service.post("wake", { text: "x", mode: "next-heartbeat" }, headers);
    await service.post("wake", { text: "x", mode: "next-heartbeat" }, headers);
    await service.post("agent", {});
    const request = { method: "POST", path: "/hooks/wake", hook: "wake", durationMs: expect.any(Number) };
    await fetch(`${service.url}/hooks/wake`, { method: "POST", headers: { authorization: "Bearer wrong" } });
    await expect
      .poll(() => named(asking, "answer").map(({ data }) => data))
      .toEqual([
        { ...request, id: body.eventId, status: 200 },
        { ...request, id: expect.any(String), status: 200 },
        {
          ...request,
          id: expect.any(String),
          status: 401,
          error: { code: "unauthorized", message: expect.any(String) },
        },
      ]);
    await expect.poll(() => named(others, "rejection")).toHaveLength(1);
    expect(named(others, "answer")).toEqual([]);
  });

  test("cut twelve times, nothing is missing and nothing comes twice", async () => {
    service = await startService();
    const posted: string[] = [];
    const received: { id: string; row: string }[] = [];
    let after: string | undefined;
    let stream = await openStream(service.url);
    await waitFor(() => stream.messages.length > 0);
    for (let cut = 0; cut < 12; cut++) {
      const { body } = await service.post("agent", { message: `m ${cut}`, deliver: false, wakeMode: "next-heartbeat" });
      posted.push(body.eventId);
      if (cut % 3 === 0) await sleep(60);
      take();
      stream.cut();
      await stream.ended;
      take();
      stream = await openStream(service.url, { after });
    }
    for (const id of posted) await service.settled(id);
    await waitFor(() => {
      take();
      return posted.every((id) => received.some(({ row }) => row === `${id} done`));
    }, "every event to be done");
    const ids = received.map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
    expect(stream.messages.some(({ event }) => event === "gap")).toBe(false);

    function take(): void {
      for (const { id, event, data } of stream.messages.splice(0)) {
        after = id;
        if (event === "event") received.push({ id, row: `${data.id} ${data.status}` });
        expect(event).not.toBe("gap");
      }
    }
  });

  test.each(["0", "none", "99999999999999999"])(
    "resumed after %s, it says that something was missed",
    async (after) => {
      service = await startService();
      const stream = await openStream(service.url, { after });
      await expect.poll(() => stream.messages).toMatchObject([{ event: "gap" }]);
      await service.post("wake", { text: "x", mode: "next-heartbeat" });
      await expect.poll(() => rowsOf(stream)).toMatchObject([{ hook: "wake" }]);
    },
  );

  test("resumed after a restart, it says that something was missed", async () => {
    service = await startService();
    const before = await openStream(service.url);
    await expect.poll(() => before.messages).toHaveLength(1);
    service = await service.restart();
    await before.ended;
    const stream = await openStream(service.url, { after: before.messages[0]?.id });
    await expect.poll(() => stream.messages).toMatchObject([{ event: "gap" }]);
  });

  test("ends when the service stops, and does not delay it", async () => {
    service = await startService();
    const stream = await openStream(service.url);
    await expect.poll(() => stream.messages).toHaveLength(1);
    const closed = service.restart();
    await stream.ended;
    service = await closed;
    expect(stream.messages).toHaveLength(1);
  });

  test("of too many clients the last is refused; unknown filters are, too", async () => {
    service = await startService();
    const streams = await Promise.all(Array.from({ length: 64 }, () => openStream(service.url)));
    const { response } = await openStream(service.url);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    streams[0]?.cut();
    await waitFor(async () => (await openStream(service.url)).response.status === 200);
    expect((await openStream(service.url, { query: "?hok=a" })).response.status).toBe(400);
    expect((await openStream(service.url, { query: "?status=nothing" })).response.status).toBe(400);
  });

  test("needs the gateway token", async () => {
    service = await startService();
    for (const authorization of ["", `Bearer ${HOOK_TOKEN}`]) {
      expect((await fetch(`${service.url}/api/stream`, { headers: { authorization } })).status).toBe(401);
    }
  });
});
