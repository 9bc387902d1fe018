import { describe, expect, test } from "vitest";
import { openFaultServer } from "../../test/support/fault-server.ts";
import { startHttpTarget, TARGET_SECRET } from "../../test/support/http-target.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../contracts/channel.ts";
import { type Fault, startFaultProxy } from "../contracts/fault-proxy.ts";
import { failureOf } from "../contracts/harness.ts";
import { compileTemplate } from "../core/mapping/template/template.ts";
import { createHttp, http } from "./http-target.ts";

const never = new AbortController().signal;
const message = { to: "ops", text: "Hello.", idempotencyKey: "delivery-1:0" };

describeRemoteChannel({ describe, test }, "http", open);

describe("http", () => {
  test("each attempt is signed anew under the same id", async () => {
    const target = await startHttpTarget();
    const channel = createHttp({ targets: { ops: { url: target.url, secret: TARGET_SECRET } } }, { compileTemplate });
    target.answerWith(500);
    await failureOf(channel.send(message, never));
    target.answerWith(200);
    expect(await channel.send({ ...message, mayBeSent: true }, never)).toEqual({ messageId: "delivery-1:0" });
    expect(await target.posted()).toMatchObject([
      { signature: "valid", headers: { "webhook-id": "delivery-1:0", "content-type": "application/json" } },
    ]);
    await target.close();
  });

  test("a secret may be a text; without one a request has no signature", async () => {
    const secret = "a text that is long enough";
    const target = await startHttpTarget(`whsec_${Buffer.from(secret).toString("base64")}`);
    const targets = { ops: { url: target.url, secret }, open: { url: target.url } };
    const channel = createHttp({ targets }, { compileTemplate });
    await channel.send(message, never);
    await channel.send({ ...message, to: "open" }, never);
    const [signed, unsigned] = await target.posted();
    expect(signed?.signature).toBe("valid");
    expect(unsigned?.headers).toMatchObject({ "webhook-id": "delivery-1:0", "webhook-timestamp": expect.any(String) });
    expect(unsigned?.headers).not.toHaveProperty("webhook-signature");
    await target.close();
  });

  test("the default body says what the text is about; the operator's headers are sent", async () => {
    const target = await startHttpTarget();
    const headers = { "X-Room": "ops", "Content-Type": "application/vnd.acme+json" };
    const channel = createHttp({ targets: { ops: { url: target.url, headers } } }, { compileTemplate });
    const about = { eventId: "e", runId: "r", hook: "deploys", sessionKey: "s" };
    await channel.send({ ...message, about }, never);
    expect(await target.posted()).toMatchObject([
      {
        body: { text: "Hello.", ...about },
        headers: { "x-room": "ops", "content-type": "application/vnd.acme+json" },
      },
    ]);
    await target.close();
  });

  test("templates of a body see the reply and the event, whose fields do not hide the reply", async () => {
    const target = await startHttpTarget();
    const body = {
      summary: "{{service}}: {{text}}",
      tags: ["{{payload.text}}", "fixed"],
      nested: { run: "{{runId}}", priority: 3, isUrgent: true, none: null },
    };
    const channel = createHttp({ targets: { ops: { url: target.url, body } } }, { compileTemplate });
    const payload = { service: "api", text: "of the payload", runId: "forged" };
    const event = { ...payload, payload };
    await channel.send({ ...message, about: { runId: "r" }, readEvent: async () => event }, never);
    expect((await target.posted())[0]?.body).toEqual({
      summary: "api: Hello.",
      tags: ["of the payload", "fixed"],
      nested: { run: "r", priority: 3, isUrgent: true, none: null },
    });
    await target.close();
  });

  test("a template that does not compile names its key", () => {
    const body = { a: [{ b: "{{#if}}" }] };
    const create = () => createHttp({ targets: { ops: { url: "https://ops.test", body } } }, { compileTemplate });
    expect(create).toThrow(/^targets\.ops\.body\.a\[0\]\.b: /);
  });

  test("a body over 256 KB is a permanent error, and nothing is sent", async () => {
    const target = await startHttpTarget();
    const body = { twice: "{{text}}{{text}}" };
    const channel = createHttp({ targets: { ops: { url: target.url, body } } }, { compileTemplate });
    const failure = await failureOf(channel.send({ ...message, text: "x".repeat(200_000) }, never));
    expect(failure).toMatchObject({ retryable: false, message: expect.stringContaining("larger than 262144 bytes") });
    const endless = { ...message, text: "x".repeat(250_000), readEvent: async () => ({ list: Array(9).fill(1) }) };
    const loop = { all: "{{#each list}}{{@root.text}}{{/each}}" };
    const looping = createHttp({ targets: { ops: { url: target.url, body: loop } } }, { compileTemplate });
    expect(await failureOf(looping.send(endless, never))).toMatchObject({ retryable: false });
    expect(await target.posted()).toEqual([]);
    await target.close();
  });

  test.each([
    { status: 301, retryable: false },
    { status: 404, retryable: false },
    { status: 408, retryable: true },
    { status: 409, retryable: true },
    { status: 425, retryable: true },
    { status: 429, retryable: true },
    { status: 503, retryable: true },
  ])("status $status: retryable is $retryable, and no redirect is followed", async ({ status, retryable }) => {
    const target = await startHttpTarget();
    const proxy = await startFaultProxy(target.url);
    proxy.inject({ kind: "answer", status, headers: { location: target.url } });
    const channel = createHttp({ targets: { ops: { url: proxy.url } } }, { compileTemplate });
    expect(await failureOf(channel.send(message, never))).toMatchObject({ retryable });
    expect(await target.posted()).toEqual([]);
    await proxy.close();
    await target.close();
  });

  // Errors of Feishu, DingTalk and WeCom, and a page in place of an answer.
  test.each<[path: string, body: string, failure: string | undefined]>([
    ["code", '{"code":0,"msg":"success"}', undefined],
    ["code", '{"code":19021,"msg":"sign match fail"}', "The target ops answered 200: sign match fail."],
    [
      "errcode",
      '{"errcode":310000,"errmsg":"keywords not in content"}',
      "The target ops answered 200: keywords not in content.",
    ],
    ["result.state", '{"result":{"state":0}}', undefined],
    ["result.state", '{"result":[0]}', "The target ops answered 200."],
    ["code", '{"code":"0"}', "The target ops answered 200."],
    ["code", "<html>", "The target ops answered 200."],
    ["code", "", "The target ops answered 200."],
  ])("with success.path %s, 200 %s is %s", async (path, body, failure) => {
    const target = await startHttpTarget();
    const proxy = await startFaultProxy(target.url);
    proxy.inject({ kind: "answer", status: 200, body });
    const targets = { ops: { url: proxy.url, success: { path, is: 0 } } };
    const sending = createHttp({ targets }, { compileTemplate }).send(message, never);
    if (failure === undefined) expect(await sending).toEqual({ messageId: message.idempotencyKey });
    else expect(await failureOf(sending)).toMatchObject({ message: failure, retryable: true });
    await proxy.close();
    await target.close();
  });

  test.each([
    [{ url: "https://ops.test" }, ["secret"]],
    [{ url: "https://ops.test", secret: TARGET_SECRET, success: { path: "a..b", is: 0 } }, ["success.path"]],
    [{ url: "https://ops.test", secret: "short" }, ["secret"]],
    [{ url: "https://ops.test", secret: `whsec_${"!".repeat(40)}` }, ["secret"]],
    [{ url: "https://ops.test", secret: "whsec_c2hvcnQ=" }, ["secret"]],
    [{ url: "https://ops.test", secret: TARGET_SECRET }, []],
    [{ url: "https://a:b@ops.test", secret: TARGET_SECRET }, ["url"]],
    [{ url: "https://", secret: TARGET_SECRET }, ["url"]],
    [{ url: "http://10.0.0.1:8080/x", secret: TARGET_SECRET, headers: { "Webhook-ID": "1" } }, ["headers"]],
    [{ url: "https://ops.test", secret: TARGET_SECRET, headers: { "a b": "1" } }, ["headers"]],
    [{ url: "https://ops.test", secret: TARGET_SECRET, headers: { a: "1\n2" } }, ["headers"]],
  ])("checks a target: %j", (target, keys) => {
    const problems = http.check?.({ targets: { ops: target } }, { baseDir: "/" }) ?? [];
    expect(problems.map(({ key }) => key)).toEqual(keys.map((key) => `targets.ops.${key}`));
  });
});

async function open(): Promise<RemoteChannelUnderTest> {
  const target = await startHttpTarget();
  const { url, ...faultable } = await openFaultServer(target, target.url);
  const targets = { ops: { url, secret: TARGET_SECRET }, gone: { url: `${url}gone` } };
  return {
    ...faultable,
    channel: createHttp({ targets }, { compileTemplate }),
    to: "ops",
    unknown: "gone",
    secret: TARGET_SECRET,
    malformed: ["", " ", "OPS", "other", "__proto__", "constructor", "https://evil.test"],
    received: async () => (await target.posted()).map(({ body }) => String(body["text"])),
    faults: {
      rateLimited: { kind: "answer", status: 429, headers: { "retry-after": "7" } },
      retryAfterMs: 7000,
      refusedForGood: refusal(403),
      brokenDown: refusal(500),
    },
  };
}

function refusal(status: number): Fault {
  return { kind: "answer", status, body: '{"message":"It did not work."}' };
}
