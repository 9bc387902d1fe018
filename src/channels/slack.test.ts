import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { startSlack } from "../../test/support/slack.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../contracts/channel.ts";
import { startFaultProxy } from "../contracts/fault-proxy.ts";
import { failureOf } from "../contracts/harness.ts";
import { createSlack, toDriverError } from "./slack.ts";

describe("slack", () => {
  describeRemoteChannel({ describe, test }, "slack", open);

  describe("slack", () => {
    const never = new AbortController().signal;

    test.each([
      "C0123456789",
      "D012ABCDEF",
      "G012ABCDEF",
      "U012ABCDEF",
      "W012ABCDEF",
      "C123",
      "general",
      "@ada",
      "#general",
      "#ünïcode",
    ])("%s is a recipient", (to) => {
      expect(() => createSlack({ token: "t" }).checkRecipient(to)).not.toThrow();
    });

    test("works where the base URL has no trailing slash, and sends the token in a header only", async () => {
      const slack = await startSlack();
      const proxy = await startFaultProxy(slack.baseUrl);
      const channel = createSlack({ token: slack.token, baseUrl: proxy.url.replace(/\/$/, "") });
      await channel.send({ to: slack.channel, text: "Hello.", idempotencyKey: "1" }, never);
      const [request] = proxy.requests;
      expect(request?.headers["authorization"]).toBe(`Bearer ${slack.token}`);
      expect(request?.body).not.toContain(slack.token);
      expect(request?.body).toContain("unfurl_links=false&unfurl_media=false");
      await proxy.close();
      await slack.close();
    });

    test("never tells its token", async () => {
      const proxy = await startFaultProxy("http://127.0.0.1/api/");
      await proxy.close();
      const channel = createSlack({ token: "xoxb-secret", baseUrl: proxy.url });
      const error = await failureOf(channel.send({ to: "C0123456789", text: "Hello.", idempotencyKey: "1" }, never));
      expect(error.message).toContain("ECONNREFUSED");
      expect(inspect(error, { depth: null })).not.toContain("xoxb-secret");
    });

    test("counts text as Slack gets it", () => {
      expect(createSlack({ token: "t" }).measure?.("a<b")).toBe("a&lt;b".length);
    });
  });

  async function open(): Promise<RemoteChannelUnderTest> {
    const slack = await startSlack();
    const proxy = await startFaultProxy(slack.baseUrl);
    return {
      channel: createSlack({ token: slack.token, baseUrl: proxy.url }),
      to: slack.channel,
      unknown: "C0UNKNOWN00",
      malformed: ["", " ", "#", "# general", "two words", "+15551234567", "a/b"],
      received: async () => (await slack.messages()).map(unescape),
      inject: (fault) => proxy.inject(fault),
      faults: {
        rateLimited: { kind: "answer", status: 429, headers: { "retry-after": "7" } },
        retryAfterMs: 7000,
        refusedForGood: refusal("not_in_channel"),
        brokenDown: refusal("internal_error"),
      },
      requestCount: () => proxy.requests.length,
      async close() {
        await proxy.close();
        await slack.close();
      },
    };
  }

  function refusal(error: string): {
    kind: "answer";
    status: number;
    headers: Record<string, string>;
    body: string;
  } {
    const headers = { "content-type": "application/json" };
    return { kind: "answer", status: 200, headers, body: JSON.stringify({ ok: false, error }) };
  }

  /** What Slack's own clients do before they show a message. */
  function unescape(text: string): string {
    return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  }
});

describe("slack errors", () => {
  describe("what Slack says under HTTP 200", () => {
    test.each(["channel_not_found", "not_in_channel", "invalid_auth", "is_archived", "msg_too_long", "some_new_error"])(
      "%s is lasting",
      (code) => {
        const error = toDriverError(refusal(code));
        expect(error.retryable).toBe(false);
        expect(error.message).toContain(`Slack refused the message: ${code}.`);
      },
    );

    test.each(["ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable"])(
      "%s is passing",
      (code) => {
        expect(toDriverError(refusal(code)).retryable).toBe(true);
      },
    );

    test("a rate limit may name its time", () => {
      expect(toDriverError(refusal("ratelimited", 30)).retryAfterMs).toBe(30_000);
      expect(toDriverError(refusal("ratelimited")).retryAfterMs).toBeUndefined();
    });

    test("the next step stands beside the common ones", () => {
      expect(toDriverError(refusal("not_in_channel")).message).toContain("Invite the bot to the channel.");
    });

    test("an inherited property's name has no advice", () => {
      expect(toDriverError(refusal("constructor")).message).toBe("Slack refused the message: constructor.");
    });

    test("a page in place of an answer is passing, and is not told", () => {
      const error = toDriverError(refusal("<html>Bad gateway</html>"));
      expect(error).toMatchObject({ retryable: true, message: "Slack's answer could not be read." });
    });
  });

  describe("other failures", () => {
    test("a 429 names its time", () => {
      expect(toDriverError(failed({ retryAfter: 7 }))).toMatchObject({ retryable: true, retryAfterMs: 7000 });
    });

    test.each([
      [500, true],
      [503, true],
      [408, true],
      [302, true],
      [400, false],
      [403, false],
      [404, false],
    ])("HTTP %i is %s", (statusCode, retryable) => {
      expect(toDriverError(failed({ statusCode, headers: {} })).retryable).toBe(retryable);
    });

    test("a 503 may name its time", () => {
      const headers = { "retry-after": "5" };
      expect(toDriverError(failed({ statusCode: 503, headers })).retryAfterMs).toBe(5000);
    });

    test("no answer is passing, with the reason beneath", () => {
      const original = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
      expect(toDriverError(failed({ original })).message).toBe("Slack gave no answer: connect ECONNREFUSED.");
      expect(toDriverError("odd").message).toBe("Slack gave no answer: odd.");
    });
  });

  function refusal(error: string, retryAfter?: number): Error {
    return failed({ data: { ok: false, error, response_metadata: { retryAfter } } });
  }

  function failed(fields: Record<string, unknown>): Error {
    return Object.assign(new Error("failed"), fields);
  }
});
