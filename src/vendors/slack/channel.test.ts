import { describe, expect, test } from "vitest";
import { startJsonServer } from "../../../test/support/json-server.ts";
import { startSlack } from "../../../test/support/vendors/slack.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../../contracts/channel.ts";
import { startFaultProxy } from "../../contracts/fault-proxy.ts";
import { createSlack } from "./channel.ts";

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
      "@ada",
      "#general",
      "#ünïcode",
      "C0123456789:1712345678.000100",
    ])("%s is a recipient", (to) => {
      expect(() => createSlack({ token: "t" }).checkRecipient(to)).not.toThrow();
    });

    test("a channel's name without # is none: it may be anything that a person typed", () => {
      expect(() => createSlack({ token: "t" }).checkRecipient("general")).toThrow("or a #channel-name");
    });

    test("sends the token only in a header; the base URL may lack the final slash", async () => {
      const slack = await startSlack();
      const proxy = await startFaultProxy(slack.baseUrl);
      const channel = createSlack({ token: slack.token, baseUrl: proxy.url.replace(/\/$/, "") });
      await channel.send({ to: slack.channel, text: "Hello.", idempotencyKey: "1" }, never);
      const [request] = proxy.requests;
      expect(request?.headers["authorization"]).toBe(`Bearer ${slack.token}`);
      expect(request?.body).not.toContain(slack.token);
      expect(JSON.parse(request?.body ?? "")).toMatchObject({ unfurl_links: false, unfurl_media: false });
      await proxy.close();
      await slack.close();
    });

    test("a thread whose answer was lost is opened once, and one that is gone is followed by another", async () => {
      const slack = await startSlack();
      const proxy = await startFaultProxy(slack.baseUrl);
      const channel = createSlack({ token: slack.token, baseUrl: proxy.url });
      const message = { to: slack.channel, text: "Incident.", idempotencyKey: "d1:0", thread: {} };
      const first = await channel.send(message, never);
      expect(await channel.send({ ...message, mayBeSent: true }, never)).toEqual(first);
      const more = { ...message, text: "More.", idempotencyKey: "d2:0", thread: { to: first.thread } };
      const second = await channel.send(more, never);
      expect(await channel.send({ ...more, mayBeSent: true }, never)).toEqual(second);
      expect(await slack.messages()).toEqual(["Incident."]);
      expect(await slack.thread(first.thread!.split(":")[1]!)).toEqual(["Incident.", "More."]);
      const gone = JSON.stringify({ ok: false, error: "thread_not_found" });
      const headers = { "content-type": "application/json" };
      proxy.inject({ kind: "answer", status: 200, headers, body: gone }, "thread_ts");
      const third = await channel.send({ ...more, text: "Anew.", idempotencyKey: "d3:0" }, never);
      expect(third.thread).toBe(third.messageId);
      expect(await slack.messages()).toEqual(["Incident.", "Anew."]);
      await proxy.close();
      await slack.close();
    });

    test("marks the first message of a thread while an answer is being written", async () => {
      const slack = await startSlack();
      const ts = await slack.post("A question.");
      const channel = createSlack(slack);
      const stop = await channel.startWorking?.(`${slack.channel}:${ts}`, never);
      // After a crash it is there already.
      await channel.startWorking?.(`${slack.channel}:${ts}`, never);
      expect(await slack.reactions(ts)).toEqual(["eyes"]);
      await stop?.();
      await stop?.();
      expect(await slack.reactions(ts)).toEqual([]);
      await slack.close();
    });

    test("posts anew if the message to edit is gone", async () => {
      const slack = await startSlack();
      const message = { to: slack.channel, text: "Hello.", idempotencyKey: "1" };
      await createSlack(slack).send({ ...message, replaces: `${slack.channel}:1700000000.000001` }, never);
      expect(await slack.messages()).toEqual(["Hello."]);
      await slack.close();
    });

    test.each(["", "in a thread"])(
      "a message whose answer was lost is found, and not written twice %s",
      async (thread) => {
        const slack = await startSlack();
        const to = thread ? `${slack.channel}:${await slack.post("A question.")}` : slack.channel;
        const channel = createSlack(slack);
        const message = { to, text: "Hello.", idempotencyKey: "d:0" };
        const sent = await channel.send(message, never);
        expect(await channel.send({ ...message, mayBeSent: true }, never)).toEqual(sent);
        expect(await channel.send({ ...message, idempotencyKey: "d:1", mayBeSent: true }, never)).not.toEqual(sent);
        await slack.close();
      },
    );

    test("where the token may not read, the message is sent again", async () => {
      const server = await startJsonServer(({ path }) => ({
        status: 200,
        body: path?.includes("history")
          ? { ok: false, error: "missing_scope" }
          : { ok: true, channel: "C1", ts: "1.1" },
      }));
      const message = { to: "C1", text: "Hello.", idempotencyKey: "d:0", mayBeSent: true };
      expect(await createSlack({ token: "t", baseUrl: server.url }).send(message, never)).toEqual({
        messageId: "C1:1.1",
      });
      await server.close();
    });

    test("measures the escaped text", () => {
      expect(createSlack({ token: "t" }).measure?.("a<b")).toBe("a&lt;b".length);
    });
  });

  async function open(): Promise<RemoteChannelUnderTest> {
    const slack = await startSlack();
    const ts = await slack.post("A question.");
    const { url, ...faultable } = await openFaultServer(slack, slack.baseUrl);
    return {
      ...faultable,
      channel: createSlack({ token: slack.token, baseUrl: url }),
      to: slack.channel,
      thread: `${slack.channel}:${ts}`,
      unknown: "C0UNKNOWN00",
      secret: slack.token,
      malformed: ["", " ", "#", "# general", "two words", "+15551234567", "a/b"],
      // Slack's history of a channel leaves out the answers in threads.
      received: async () => [...(await slack.messages()).slice(1), ...(await slack.thread(ts)).slice(1)].map(unescape),
      faults: {
        rateLimited: { kind: "answer", status: 429, headers: { "retry-after": "7" } },
        retryAfterMs: 7000,
        refusedForGood: refusal("not_in_channel"),
        brokenDown: refusal("internal_error"),
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

  /** Unescapes like Slack's own clients. */
  function unescape(text: string): string {
    return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  }
});
