import { describe, expect, test } from "vitest";
import { HookError, JournalUnavailable } from "../errors.ts";
import { silentLog } from "../telemetry/log.ts";
import type { Receipt } from "../types.ts";
import { createClientResolver, errorToResponse, receiptToResponse, toClient, toWire } from "./exchange.ts";

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::FFFF:192.0.2.1", "192.0.2.1"],
  ["::ffff:c000:201", "192.0.2.1"],
  ["2001:0db8:0:0:0:0:0:1", "2001:db8::1"],
  ["192.0.2.1:4711", "192.0.2.1"],
  ["[::ffff:192.0.2.1]:4711", "192.0.2.1"],
  ["2001:DB8::1", "2001:db8::1"],
  ["[2001:db8::1]:4711", "2001:db8::1"],
  ["[2001:db8::1]", "2001:db8::1"],
  ["localhost", "unknown"],
  ["", "unknown"],
  [undefined, "unknown"],
])("%s counts as %s", (address, client) => {
  expect(toClient(address)).toBe(client);
});

test.each([{ ok: true }, Buffer.from("<Response/>"), undefined])("no answer is sniffed: %j", (body) => {
  const exchange = { id: "e", answerHeaders: {} };
  const { headers } = toWire(exchange, { status: 200, headers: { "Content-Type": "text/xml" }, body });
  expect(headers).toMatchObject({ "X-Content-Type-Options": "nosniff", "X-Request-Id": "e" });
});

describe("behind proxies", () => {
  const clientOf = createClientResolver(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]);

  test.each([
    ["no header", "10.0.0.1", undefined, "10.0.0.1"],
    ["an untrusted peer", "203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["a trusted peer", "10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["a trusted peer in IPv6 form", "::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["an address that the client made up", "10.0.0.1", "198.51.100.9, 198.51.100.1", "198.51.100.1"],
    ["several proxies", "2001:db8::5", "198.51.100.1, 192.0.2.7, 10.1.1.1", "198.51.100.1"],
    ["only proxies", "10.0.0.1", "10.0.0.2", "10.0.0.2"],
    ["something that is not an address", "10.0.0.1", "198.51.100.1, secret", "unknown"],
  ])("%s", (_what, peer, forwarded, client) => {
    expect(clientOf(peer, forwarded)).toBe(client);
  });
});

const WAKE = { kind: "wake", mode: "now" } as const;
const AGENT = { kind: "agent", runId: "run-1", sessionKey: "hook:1" } as const;

function receipt(parts: Partial<Receipt>): Receipt {
  return { eventId: "event-1", actions: [], warnings: [], replayed: false, ...parts };
}

describe("a receipt", () => {
  test("of a wake", () => {
    expect(receiptToResponse(receipt({ actions: [WAKE] }))).toEqual({
      status: 200,
      headers: {},
      body: { ok: true, mode: "now", eventId: "event-1" },
    });
  });

  test("of an agent action", () => {
    expect(receiptToResponse(receipt({ actions: [AGENT] }))).toEqual({
      status: 202,
      headers: {},
      body: { ok: true, runId: "run-1", sessionKey: "hook:1", eventId: "event-1" },
    });
  });

  test("of several actions, one of them an agent's", () => {
    expect(receiptToResponse(receipt({ actions: [WAKE, AGENT] }))).toEqual({
      status: 202,
      headers: {},
      body: { ok: true, eventId: "event-1", actions: [WAKE, AGENT], runIds: ["run-1"] },
    });
  });

  test("of several wakes", () => {
    expect(receiptToResponse(receipt({ actions: [WAKE, WAKE] }))).toMatchObject({
      status: 200,
      body: { runIds: [] },
    });
  });

  test("of nothing to do", () => {
    expect(receiptToResponse(receipt({ warnings: ["ignored"] }))).toEqual({ status: 204, headers: {} });
  });

  test("lists warnings", () => {
    expect(receiptToResponse(receipt({ actions: [WAKE], warnings: ["a is unknown"] })).body).toHaveProperty(
      "warnings",
      ["a is unknown"],
    );
  });

  test("of a repeated request has a header", () => {
    expect(receiptToResponse(receipt({ actions: [WAKE], replayed: true })).headers).toEqual({
      "Idempotency-Replayed": "true",
    });
  });
});

describe("an error", () => {
  test("that is a HookError is answered as it is", () => {
    const error = new HookError("idempotency_conflict", { message: "Other content.", headers: { "X-A": "b" } });
    expect(errorToResponse(error, "id-1", silentLog)).toEqual({
      status: 422,
      headers: { "X-A": "b" },
      body: { ok: false, error: "Other content.", code: "idempotency_conflict", requestId: "id-1" },
    });
  });

  test("of the journal asks to retry", () => {
    expect(errorToResponse(new JournalUnavailable("disk full at /var"), "id-1", silentLog)).toMatchObject({
      status: 503,
      headers: { "Retry-After": "1" },
      body: { code: "journal_unavailable", error: expect.not.stringContaining("disk") },
    });
  });

  test.each([new Error("secret /path"), "secret", null])("of any other kind reveals nothing: %s", (error) => {
    expect(errorToResponse(error, "id-1", silentLog)).toEqual({
      status: 500,
      headers: {},
      body: { ok: false, error: "Internal server error.", code: "internal_error", requestId: "id-1" },
    });
  });
});
