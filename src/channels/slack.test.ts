import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../contracts/describe-remote-channel.ts";
import { failureOf } from "../contracts/failure-of.ts";
import { startFaultProxy } from "../contracts/fault-proxy.ts";
import { startSlack } from "../../test/support/slack.ts";
import { createSlack } from "./slack.ts";

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
    const error = await failureOf(
      channel.send({ to: "C0123456789", text: "Hello.", idempotencyKey: "1" }, never),
    );
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
