import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shownText } from "../../../test/support/comments.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { type LinearServer, startLinear } from "../../../test/support/linear-server.ts";
import { describeRemoteChannel } from "../../contracts/channel.ts";
import { startFaultProxy } from "../../contracts/fault-proxy.ts";
import { failureOf } from "../../contracts/harness.ts";
import { createLinear } from "./comments.ts";

const never = new AbortController().signal;

const refusal = (type: string): string => JSON.stringify({ errors: [{ message: "Refused", extensions: { type } }] });

describeRemoteChannel({ describe, test }, "linear", async () => {
  const linear = await startLinear();
  const { id } = linear.write("Is it slow?");
  const { url, ...faultable } = await openFaultServer(linear, linear.baseUrl);
  return {
    ...faultable,
    to: linear.issue,
    unknown: "ENG-99",
    malformed: ["", "eng-1", "ENG", "ENG-0", "ENG-1/c1", "ENG-1/../x", "1-ENG", "https://linear.app/acme/issue/ENG-1"],
    thread: `${linear.issue}/c${id}`,
    channel: createLinear({ token: linear.token, baseUrl: url }),
    secret: linear.token,
    received: async () => linear.texts().slice(1).map(shownText),
    faults: {
      rateLimited: { kind: "answer", status: 400, headers: { "retry-after": "9" }, body: refusal("ratelimited") },
      retryAfterMs: 9000,
      refusedForGood: { kind: "answer", status: 400, body: refusal("forbidden") },
      brokenDown: { kind: "answer", status: 503, body: "<html>" },
    },
  };
});

describe("linear", () => {
  let linear: LinearServer;
  beforeAll(async () => {
    linear = await startLinear();
  });
  afterAll(() => linear.close());

  const open = (options: object = {}) => createLinear({ token: linear.token, baseUrl: linear.baseUrl, ...options });
  const send = (message: object, channel = open()) =>
    channel.send({ to: linear.issue, text: "Hello.", idempotencyKey: "d:0", ...message }, never);

  test("the id of a comment says which delivery it is", async () => {
    const first = await send({ idempotencyKey: "d1:0" });
    expect(first.messageId).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/);
    const count = linear.comments.length;
    expect(await send({ idempotencyKey: "d1:0", mayBeSent: true })).toEqual(first);
    expect(linear.comments).toHaveLength(count);
    await send({ idempotencyKey: "d1:1", mayBeSent: true });
    expect(linear.comments).toHaveLength(count + 1);
  });

  test("a text is neutral: the address of a profile, which Linear makes a mention, is none", async () => {
    const text = "@ada see https://linear.app/acme/profiles/ada and linear.app/acme/issue/ENG-2, fixes ENG-2";
    await send({ text, idempotencyKey: "d2:0" });
    expect(linear.comments.at(-1)?.text).toBe(
      "@\u200Bada see https://linear.app/acme/profiles\u200B/ada and linear.app/acme/issue/ENG-2, fix\u200Bes ENG-2",
    );
    await send({ text, idempotencyKey: "d2:1" }, open({ allowMentions: true, allowClosing: true }));
    expect(linear.comments.at(-1)?.text).toBe(text);
  });

  test("a reply is in its thread", async () => {
    const { id } = linear.write("Why?");
    await send({ to: `${linear.issue}/c${id}`, idempotencyKey: "d3:0" });
    expect(linear.comments.at(-1)).toMatchObject({ issueId: linear.issue, parentId: id });
  });

  test("an update replaces the text; of a comment that is gone, a new one is written", async () => {
    const { messageId } = await send({ idempotencyKey: "d4:0" });
    const count = linear.comments.length;
    expect(await send({ text: "Done.", replaces: messageId, idempotencyKey: "d4:1" })).toEqual({ messageId });
    expect(linear.comments.at(-1)?.text).toBe("Done.");
    const gone = "686f6f6b-6c69-4000-8000-000000000000";
    expect((await send({ replaces: gone, idempotencyKey: "d4:2" })).messageId).not.toBe(gone);
    expect(linear.comments).toHaveLength(count + 1);
  });

  test("eyes on the issue or on the thread show that an answer is being written", async () => {
    const { id } = linear.write("Why?");
    for (const [to, place] of [
      [linear.issue, linear.issue],
      [`${linear.issue}/c${id}`, id],
    ] as const) {
      const stop = await open().startWorking?.(to, never);
      expect(linear.reactions).toEqual([place]);
      await stop?.();
      expect(linear.reactions).toEqual([]);
    }
  });

  test("an agent session gets a thought at once and then the response, which is found and not written twice", async () => {
    const to = `${linear.issue}/s${linear.session}`;
    await (
      await open().startWorking?.(to, never)
    )?.();
    const first = await send({ to, text: "Done, @ada.", idempotencyKey: "d7:0" });
    expect(await send({ to, idempotencyKey: "d7:0", mayBeSent: true })).toEqual(first);
    await send({ to, text: "Done again.", replaces: first.messageId, idempotencyKey: "d7:1" });
    expect(linear.activities.map(({ content, ephemeral }) => [content.type, content.body, ephemeral])).toEqual([
      ["thought", "Working on it.", true],
      ["response", "Done, @\u200Bada.", false],
      ["response", "Done again.", false],
    ]);
  });

  test("a notice that a run has failed is the error of an agent session, and a comment elsewhere", async () => {
    const to = `${linear.issue}/s${linear.session}`;
    const before = linear.activities.length;
    await send({ to, text: "A person will look at it.", isNotice: true, idempotencyKey: "d8:0" });
    expect(linear.activities.slice(before).map(({ content }) => content)).toEqual([
      { type: "error", body: "A person will look at it." },
    ]);
    const { messageId } = await send({ text: "A person will look.", isNotice: true, idempotencyKey: "d8:1" });
    expect(messageId).toBeDefined();
  });

  test("an API key is sent as it is, an OAuth token as a bearer", async () => {
    const proxy = await startFaultProxy(linear.baseUrl);
    await send({ idempotencyKey: "d5:0" }, open({ baseUrl: proxy.url }));
    const error = await failureOf(send({}, open({ baseUrl: proxy.url, token: "lin_oauth_1" })));
    expect(error.message).toBe("Linear answered 401: Authentication required. Check channels.linear.token or app.");
    expect(error.retryable).toBe(false);
    expect(proxy.requests.map(({ headers }) => headers["authorization"])).toEqual([linear.token, "Bearer lin_oauth_1"]);
    await proxy.close();
  });

  test("an application gets a token, keeps it, and gets another one when it was revoked", async () => {
    const proxy = await startFaultProxy(linear.baseUrl);
    const channel = createLinear({ app: linear.app, baseUrl: proxy.url });
    await send({ idempotencyKey: "d6:0" }, channel);
    await send({ idempotencyKey: "d6:1" }, channel);
    linear.revoke();
    expect((await failureOf(send({ idempotencyKey: "d6:2" }, channel))).retryable).toBe(true);
    await send({ idempotencyKey: "d6:2" }, channel);
    const paths = ["/oauth/token", "/graphql", "/graphql", "/graphql", "/oauth/token", "/graphql"];
    expect(proxy.requests.map(({ path }) => path)).toEqual(paths);
    await proxy.close();
  });

  test("a wrong secret of the application is a permanent error that does not show it", async () => {
    const channel = createLinear({ app: { ...linear.app, secret: "wr0ng" }, baseUrl: linear.baseUrl });
    const error = await failureOf(send({}, channel));
    expect([error.message, error.retryable]).toEqual([
      "Linear answered 401: invalid_client. Check channels.linear.app, and that the app may use client credentials.",
      false,
    ]);
    expect(inspect(error, { depth: null })).not.toContain("wr0ng");
  });

  test("no error shows the text, which Linear quotes when it does not understand a query", async () => {
    const proxy = await startFaultProxy(linear.baseUrl);
    const quote = { errors: [{ message: 'Variable "$input" got invalid value { body: "Hello." }' }] };
    proxy.inject({ kind: "answer", status: 400, body: JSON.stringify(quote) });
    const { message, retryable } = await failureOf(send({}, open({ baseUrl: proxy.url })));
    expect([message, retryable]).toEqual(["Linear answered 400.", false]);
    await proxy.close();
  });

  const inAnHour = String(Date.now() + 3_600_000);
  test.each([
    ["requests", { "x-ratelimit-requests-remaining": "0", "x-ratelimit-requests-reset": inAnHour }, 3_000_000],
    [
      "complexity",
      {
        "x-ratelimit-requests-remaining": "900",
        "x-ratelimit-requests-reset": "4102444800000",
        "x-ratelimit-complexity-remaining": "2",
        "x-ratelimit-complexity-reset": inAnHour,
      },
      3_000_000,
    ],
    ["no limit that it names", {}, undefined],
  ])("a rate limit of %s", async (_, headers, atLeastMs) => {
    const proxy = await startFaultProxy(linear.baseUrl);
    proxy.inject({ kind: "answer", status: 400, headers, body: refusal("ratelimited") });
    const { retryable, retryAfterMs } = await failureOf(send({}, open({ baseUrl: proxy.url })));
    expect(retryable).toBe(true);
    if (atLeastMs === undefined) expect(retryAfterMs).toBeUndefined();
    else {
      expect(retryAfterMs).toBeGreaterThan(atLeastMs);
      expect(retryAfterMs).toBeLessThanOrEqual(3_600_000);
    }
    await proxy.close();
  });

  test.each(["internal error", "lock timeout"])("%s is retryable, with status 200 too", async (type) => {
    const proxy = await startFaultProxy(linear.baseUrl);
    proxy.inject({ kind: "answer", status: 200, body: refusal(type) });
    expect((await failureOf(send({}, open({ baseUrl: proxy.url })))).retryable).toBe(true);
    await proxy.close();
  });
});
