import { describe, expect, test } from "vitest";
import type { Door, Doors } from "../../src/ingress/doors.ts";
import { BEARER, expectRefusal, startIngress, TRANSPORTS } from "../support/ingress.ts";

/** A provider that sends a checksum of the body as its first byte, and verifies the address with GET and POST. */
const door: Door = {
  methods: ["POST", "GET"],
  async verify({ method, headers, query, readBody }) {
    if (method === "GET") return { credential: "auth:checksum" };
    const signature = headers["x-signature"];
    if (signature === undefined) return { refusal: "The signature is missing." };
    const [first] = await readBody();
    if (signature !== String(first)) return { refusal: "The signature is wrong." };
    return { credential: `auth:${query["as"] ?? "checksum"}`, allowsEmptyBody: query["as"] === "notifier" };
  },
  async handshake({ method, query, readBody }) {
    const challenge = method === "GET" ? query["challenge"] : /^ping (.*)/.exec(String(await readBody()))?.[1];
    return challenge === undefined ? undefined : { status: 200, headers: {}, body: { challenge } };
  },
};
const doors: Doors = { find: (hook) => (hook === "plain" ? { ...door, methods: ["POST"] } : door) };

describe.each(TRANSPORTS)("through the %s, a door", (transport) => {
  test("may verify the raw body, which is read once", async () => {
    const { send, received } = await startIngress(transport, { doors });
    const headers = { "x-signature": String("{".charCodeAt(0)) };
    expect((await send("/hooks/any?as=other", { headers, body: '{"a":1}' })).status).toBe(200);
    expect(received).toMatchObject([{ credential: "auth:other", payload: { a: 1 }, query: { as: "other" } }]);
  });

  test("may allow an empty body", async () => {
    const { send, received } = await startIngress(transport, { doors });
    const headers = { "x-signature": "undefined" };
    expect((await send("/hooks/any?as=notifier", { headers })).status).toBe(200);
    expect(received).toMatchObject([{ payload: {}, payloadIsBody: false, rawBody: Buffer.alloc(0) }]);
    await expectRefusal(await send("/hooks/any", { headers }), 400, "invalid_json");
  });

  test("refuses with 401, which counts as a failed credential, and other credentials do not help", async () => {
    const { send, received, refused } = await startIngress(transport, { doors });
    for (const headers of [BEARER, { "x-signature": "1" }]) {
      await expectRefusal(await send("/hooks/any", { headers, body: "{}" }), 401, "unauthorized");
    }
    for (let count = 0; count < 18; count++) await send("/hooks/any", { body: "{}" });
    await expectRefusal(await send("/hooks/any", { body: "{}" }), 429, "too_many_failures");
    expect([received, refused]).toEqual([[], []]);
  });

  test("answers handshakes", async () => {
    const { send, received } = await startIngress(transport, { doors });
    const answers = [
      await send("/hooks/any?challenge=abc", { method: "GET" }),
      await send("/hooks/any", { headers: { "x-signature": String("p".charCodeAt(0)) }, body: "ping abc" }),
    ];
    for (const answer of answers) expect([answer.status, await answer.json()]).toEqual([200, { challenge: "abc" }]);
    expect(received).toEqual([]);
  });

  test("allows other methods only for handshakes", async () => {
    const { send } = await startIngress(transport, { doors });
    const refusals = [
      await send("/hooks/any", { method: "GET" }),
      await send("/hooks/plain?challenge=a", { method: "GET" }),
    ];
    expect(refusals.map(({ headers }) => headers.get("allow"))).toEqual(["POST, GET", "POST"]);
    for (const refusal of refusals) await expectRefusal(refusal, 405, "method_not_allowed");
  });
});
