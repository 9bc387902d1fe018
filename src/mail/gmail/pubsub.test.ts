import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type GmailServer, startGmail } from "../../../test/support/gmail.ts";
import { type GoogleSigner, startGoogleSigner } from "../../../test/support/google-signer.ts";
import { expectRefusal, type Ingress, startIngress, TRANSPORTS } from "../../../test/support/ingress.ts";
import type { MailSourceOptions } from "../sources.ts";
import { createGoogle } from "./google.ts";
import { announcesChange, createMailPush, createPubsub, type Pubsub, pullUntilChange } from "./pubsub.ts";

const encode = (notification: unknown): string => Buffer.from(JSON.stringify(notification)).toString("base64");

test("pullUntilChange ends with a notification for this mailbox, and with no other message", async () => {
  const announce = (emailAddress: string): object => ({ data: encode({ emailAddress }) });
  const pulls: unknown[][] = [[announce("bob@example.com"), {}], [], [null, announce("Ann@Example.com")]];
  const pubsub: Pubsub = { check: async () => {}, pull: async () => pulls.shift() ?? [] };
  const options = { subscription: "s", user: "ann@example.com", timeoutMs: 36_000_000 };
  await pullUntilChange(pubsub, options, new AbortController().signal);
  expect(pulls).toEqual([]);
});

describe("pull", () => {
  const NEVER = 36_000_000;

  let server: GmailServer;
  let pubsub: Pubsub;
  const { signal } = new AbortController();

  beforeAll(async () => {
    server = await startGmail();
    pubsub = createPubsub(createGoogle(server.oauth), server.url);
  });
  afterAll(() => server.close());

  test("returns and acknowledges all messages", async () => {
    const { topic, subscription } = server.notified;
    server.pubsub.publish(topic, { number: 1 });
    server.pubsub.publish(topic, { number: 2 });
    expect(await pubsub.pull(subscription, NEVER, signal)).toHaveLength(2);
    expect(server.pubsub.unacknowledged(subscription)).toBe(0);
  });

  test("returns nothing after the time", async () => {
    expect(await pubsub.pull(server.notified.subscription, 50, signal)).toEqual([]);
  });

  test("ends with an abort, and not the process", async () => {
    const { subscription } = server.notified;
    // Aborted before the request is sent.
    await expect(pubsub.pull(subscription, NEVER, AbortSignal.abort())).rejects.toThrow(/cannot pull/);
    const end = new AbortController();
    server.intercept = () => void setImmediate(() => end.abort());
    await expect(pubsub.pull(subscription, NEVER, end.signal)).rejects.toThrow(/cannot pull/);
    server.intercept = () => undefined;
  });

  test("says why there was no answer", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
    other.close();
    await once(other, "close");
    const nobody = createPubsub(createGoogle(server.oauth), url);
    await expect(nobody.pull("projects/p/subscriptions/s", NEVER, signal)).rejects.toMatchObject({
      kind: "network",
      message: expect.stringMatching(/ECONNREFUSED/),
    });
  });
});

describe("announcesChange", () => {
  test("reads base64 and base64url", () => {
    const data = encode({ emailAddress: "ann@example.com", historyId: 5, more: "~~~???" });
    expect(announcesChange({ data, messageId: "1" }, "ann@example.com")).toBe(true);
    const urlSafe = data.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    expect(announcesChange({ data: urlSafe }, "ann@example.com")).toBe(true);
    expect(announcesChange({ data }, "bob@example.com")).toBe(false);
  });

  test.each([
    undefined,
    null,
    "text",
    {},
    { data: 5 },
    { data: "" },
    { data: "%%%" },
    { data: encode(null) },
    { data: encode([]) },
    { data: encode({ emailAddress: {} }) },
  ])("is false for %o", (message) => {
    expect(announcesChange(message, "ann@example.com")).toBe(false);
  });
});

const AUDIENCE = "https://hooks.example.com/mail/push";
const ACCOUNT = "pubsub@test.iam.gserviceaccount.com";
const USER = "ann@example.com";

let google: GoogleSigner;
let stranger: GoogleSigner;

beforeAll(async () => {
  google = await startGoogleSigner(AUDIENCE, ACCOUNT);
  stranger = await startGoogleSigner(AUDIENCE, ACCOUNT);
});
afterAll(async () => {
  await google.close();
  await stranger.close();
});

interface Push {
  ingress: Ingress;
  post(token: string | undefined, body?: unknown): Promise<Response>;
  notified: number;
}

async function startPush(
  transport: (typeof TRANSPORTS)[number] = "process",
  more: Partial<MailSourceOptions> = {},
): Promise<Push> {
  const settings = { audience: AUDIENCE, serviceAccount: ACCOUNT, keysUrl: google.keysUrl };
  const source: MailSourceOptions = { kind: "gmail", user: USER, push: settings, ...more };
  const other = { ...source, user: "bob@example.org", push: settings && { ...settings, audience: "another" } };
  const mailboxes = [
    { settings: { source: other }, source: { notify: () => expect.unreachable("the other mailbox") } },
    { settings: { source }, source: { notify: () => void (push.notified += 1) } },
    { settings: {}, source: {} },
  ];
  const ingress = await startIngress(transport, {
    routes: { "POST /mail/push": createMailPush({ mailboxes: () => (source.push ? mailboxes : []) }) },
  });
  const push: Push = {
    ingress,
    notified: 0,
    post: (token, body = toPost({ emailAddress: USER, historyId: 5 })) =>
      ingress.send("/mail/push", {
        headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
        body: JSON.stringify(body),
      }),
  };
  return push;
}

function toPost(notification: unknown): object {
  const data = Buffer.from(JSON.stringify(notification)).toString("base64");
  return {
    message: { data, messageId: "1", publishTime: "2026-11-20T10:00:00Z" },
    subscription: "projects/x/subscriptions/y",
  };
}

describe.each(TRANSPORTS)("over a %s", (transport) => {
  test("a post with a valid token says that the mailbox has changed", async () => {
    const push = await startPush(transport);
    const answer = await push.post(google.sign());
    expect({ status: answer.status, body: await answer.text() }).toEqual({ status: 204, body: "" });
    expect(push.notified).toBe(1);
    expect(push.ingress.received).toEqual([]);
  });
});

describe("a token", () => {
  const now = Math.floor(Date.now() / 1000);
  test.each<[string, () => string | undefined]>([
    ["that is missing", () => undefined],
    ["that is no token", () => "nonsense"],
    ["of three empty parts", () => ".."],
    ["of JSON null", () => "bnVsbA.bnVsbA.x"],
    ["for another audience", () => google.sign({ aud: "https://elsewhere.example.com" })],
    ["for another service account", () => google.sign({ email: "mallory@test.iam.gserviceaccount.com" })],
    ["without an address", () => google.sign({ email: undefined })],
    ["whose address is not verified", () => google.sign({ email_verified: false })],
    ["whose address is verified by a string", () => google.sign({ email_verified: "true" })],
    ["of another issuer", () => google.sign({ iss: "https://accounts.example.com" })],
    ["that has expired", () => google.sign({ iat: now - 7200, exp: now - 3600 })],
    ["that is not valid yet", () => google.sign({ iat: now + 3600, exp: now + 7200 })],
    ["that was issued long ago", () => google.sign({ iat: now - 2 * 86_400, exp: now + 10 * 365 * 86_400 })],
    ["without a signature", () => google.sign({}, { alg: "none" }).replace(/[^.]*$/, "")],
    [
      "with the signature of another token",
      () => google.sign({}).replace(/[^.]*$/, google.sign({ sub: "1" }).split(".")[2] ?? ""),
    ],
    ["signed with the public key as a secret", () => google.sign({}, { alg: "HS256" }).replace(/[^.]*$/, "AAAA")],
    ["of an unknown key", () => google.sign({}, { kid: "other" })],
    ["of a key that every object inherits", () => google.sign({}, { kid: "constructor" })],
    ["that someone else signed", () => google.forge()],
    ["that someone else signed with a server of their own", () => stranger.sign()],
  ])("%s is refused without a reason", async (_, token) => {
    const push = await startPush();
    const answer = await push.post(token());
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    await expectRefusal(answer, 401, "unauthorized");
    expect(push.notified).toBe(0);
    expect(JSON.stringify(push.ingress.log)).not.toContain("eyJ");
  });

  test("is accepted with either name of the issuer", async () => {
    const push = await startPush();
    expect((await push.post(google.sign({ iss: "accounts.google.com" }))).status).toBe(204);
  });

  test("that cannot be verified now must be sent again", async () => {
    const signer = await startGoogleSigner(AUDIENCE, ACCOUNT);
    await signer.close();
    const settings = { audience: AUDIENCE, serviceAccount: ACCOUNT, keysUrl: signer.keysUrl };
    const push = await startPush("process", { push: settings });
    const answer = await push.post(signer.sign());
    expect(answer.headers.get("retry-after")).toBe("10");
    await expectRefusal(answer, 503, "unavailable");
  });
});

test.each([
  ["another mailbox", toPost({ emailAddress: "bob@example.com" })],
  ["nothing", {}],
  ["a list", []],
  ["no message", { message: null }],
  ["no JSON inside", { message: { data: "%%%" } }],
  ["a message that inherits", { message: { __proto__: null } }],
])("a post with %s is accepted, so that it is not repeated, and ignored", async (_, body) => {
  const push = await startPush();
  expect((await push.post(google.sign(), body)).status).toBe(204);
  expect(push.notified).toBe(0);
});

test("a body that is too large is refused", async () => {
  const push = await startPush();
  const answer = await push.post(google.sign(), { message: "x".repeat(70_000) });
  expect(answer.status).toBe(413);
  expect(push.notified).toBe(0);
});

test("the path does not exist without push settings", async () => {
  const push = await startPush("process", { push: undefined });
  const answer = await push.post(google.sign());
  expect(answer.status).toBe(404);
  await expectRefusal(answer, 404, "not_found");
});

test("other methods are not allowed", async () => {
  const { ingress } = await startPush();
  onTestFinished(() => ingress.server.close());
  const answer = await ingress.send("/mail/push", { method: "GET" });
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
});
