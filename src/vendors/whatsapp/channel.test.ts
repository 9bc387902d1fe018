import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { startWhatsapp, whatsappError } from "../../../test/support/whatsapp.ts";
import { describeRefusals } from "../../../test/support/vendors/refusals.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../../contracts/channel.ts";
import { type Fault, startFaultProxy } from "../../contracts/fault-proxy.ts";
import { failureOf } from "../../contracts/harness.ts";
import type { DriverError } from "../../core/errors.ts";
import { type HttpAnswer, toRefusal } from "../kit/http.ts";
import { createWhatsapp, explain } from "./channel.ts";

describe("whatsapp", () => {
  describeRemoteChannel({ describe, test }, "whatsapp", open);

  describe("whatsapp", () => {
    const never = new AbortController().signal;

    test.each(["+15551234567", "15551234567", "4915112345678"])("%s is a recipient", (to) => {
      expect(() => createWhatsapp({ token: "t", phoneNumberId: "1" }).checkRecipient(to)).not.toThrow();
    });

    test("sends version and number in the path, and the token only in a header", async () => {
      const whatsapp = await startWhatsapp();
      const proxy = await startFaultProxy(whatsapp.baseUrl);
      const channel = createWhatsapp({ ...whatsapp, version: "v25.0", baseUrl: proxy.url });
      await channel.send({ to: whatsapp.recipient, text: "Hello.", idempotencyKey: "1" }, never);
      const [request] = proxy.requests;
      expect(request?.path).toBe(`/v25.0/${whatsapp.phoneNumberId}/messages`);
      expect(request?.headers["authorization"]).toBe(`Bearer ${whatsapp.token}`);
      expect(request?.body).not.toContain(whatsapp.token);
      expect(request?.body).toContain('"preview_url":false');
      await proxy.close();
      await whatsapp.close();
    });

    test("answers a message", async () => {
      const whatsapp = await startWhatsapp();
      const to = `${whatsapp.recipient}:wamid.HBgL+1/2=`;
      await createWhatsapp(whatsapp).send({ to, text: "Hello.", idempotencyKey: "1" }, never);
      expect(whatsapp.contexts()).toEqual(["wamid.HBgL+1/2="]);
      await whatsapp.close();
    });

    test("the error does not show the token, even when the service quotes it", async () => {
      const whatsapp = await startWhatsapp();
      const channel = createWhatsapp({ ...whatsapp, token: "wa-secret" });
      const error = await failureOf(
        channel.send({ to: whatsapp.recipient, text: "Hello.", idempotencyKey: "1" }, never),
      );
      expect(error).toMatchObject({
        retryable: false,
        message: "WhatsApp answered 401: error 190. Check channels.whatsapp.token.",
      });
      expect(inspect(error, { depth: null })).not.toContain("wa-secret");
      await whatsapp.close();
    });

    test("a web page in place of an answer is retryable", async () => {
      const proxy = await startFaultProxy("http://127.0.0.1/");
      proxy.inject({ kind: "answer", status: 200, body: "<html>Sign in</html>" });
      const channel = createWhatsapp({ token: "t", phoneNumberId: "1", baseUrl: proxy.url });
      const error = await failureOf(channel.send({ to: "+15551234567", text: "Hello.", idempotencyKey: "1" }, never));
      expect(error.retryable).toBe(true);
      await proxy.close();
    });
  });

  async function open(): Promise<RemoteChannelUnderTest> {
    const whatsapp = await startWhatsapp();
    const { url, ...faultable } = await openFaultServer(whatsapp, whatsapp.baseUrl);
    return {
      ...faultable,
      channel: createWhatsapp({ ...whatsapp, baseUrl: url }),
      to: whatsapp.recipient,
      thread: `${whatsapp.recipient}:wamid.HBgLMTY1MDU1NTEyMzQVAgASGBQz`,
      unknown: "+15550000000",
      malformed: ["", " ", "+", "123", "+1 555 123", "15551234567890123", "ada@example.org", "../../me"],
      received: async () => whatsapp.messages(),
      faults: {
        // Meta reports a rate limit as a code with HTTP status 400, without a time.
        rateLimited: refusal(400, 131_056),
        retryAfterMs: undefined,
        refusedForGood: refusal(400, 131_047),
        brokenDown: refusal(500, 131_000),
      },
    };
  }

  function refusal(status: number, code: number): Fault {
    const { body } = whatsappError(status, code, "It did not work.");
    return { kind: "answer", status, body: JSON.stringify(body) };
  }
});

describe("whatsapp errors", () => {
  test.each([1, 2, 4, 80_007, 130_429, 131_000, 131_016, 131_056, 131_057, 133_004])(
    "code %i is retryable with any status",
    (code) => {
      expect(refused(refusal(400, code)).retryable).toBe(true);
      expect(refused(refusal(403, code)).retryable).toBe(true);
    },
  );

  test.each([0, 10, 100, 190, 200, 368, 131_026, 131_030, 131_047, 131_048])("code %i is permanent", (code) => {
    expect(refused(refusal(400, code)).retryable).toBe(false);
  });

  test("common errors have advice", () => {
    expect(refused(refusal(400, 131_047)).message).toContain("24 hours");
    expect(refused(refusal(400, 190)).message).toContain("Check channels.whatsapp.token.");
  });

  test("without a code the status decides", () => {
    expect(refused({ status: 502, headers: new Headers(), body: {} }).retryable).toBe(true);
    expect(refused({ status: 404, headers: new Headers(), body: { error: "no" } }).retryable).toBe(false);
  });

  test("a Retry-After is kept", () => {
    const headers = new Headers({ "retry-after": "7" });
    expect(refused({ ...refusal(429, 130_429), headers }).retryAfterMs).toBe(7000);
  });

  function refused(answer: HttpAnswer): DriverError {
    return toRefusal("WhatsApp", answer, explain(answer));
  }

  function refusal(status: number, code: number) {
    return { status, headers: new Headers(), body: { error: { code, message: "It did not work." } } };
  }
});

const USAGE = JSON.stringify({ "1": [{ type: "whatsapp", call_count: 100, estimated_time_to_regain_access: 19 }] });

describeRefusals("WhatsApp", {
  uses: { "a message": { call: (baseUrl) => sendAt(baseUrl) } },
  limits: {
    "of a business account": {
      status: 400,
      headers: { "x-business-use-case-usage": USAGE },
      body: { error: { code: 80_007, message: "Limited." } },
      retryAfterMs: 19 * 60_000,
    },
    "of a proxy": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
  },
});

function sendAt(baseUrl: string, more: object = {}): Promise<unknown> {
  return createWhatsapp({ token: "t", phoneNumberId: "1", baseUrl }).send(
    { to: "+15551234567", text: "Hello.", idempotencyKey: "d:0", ...more },
    AbortSignal.timeout(600_000),
  );
}
