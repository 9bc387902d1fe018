import { generateKeyPairSync } from "node:crypto";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shownText } from "../../../test/support/comments.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { type GithubServer, startGithub } from "../../../test/support/vendors/github-server.ts";
import { startJsonServer } from "../../../test/support/json-server.ts";
import { describeRemoteChannel, type RemoteChannelUnderTest } from "../../contracts/channel.ts";
import { startFaultProxy } from "../../contracts/fault-proxy.ts";
import { failureOf } from "../../contracts/harness.ts";
import { createGithub } from "./comments.ts";

const never = new AbortController().signal;

describeRemoteChannel({ describe, test }, "github", async (): Promise<RemoteChannelUnderTest> => {
  const github = await startGithub();
  const { url, ...faultable } = await openFaultServer(github, github.baseUrl);
  // `emulate` has no reactions. They are tested separately below.
  const { startWorking: _, ...channel } = createGithub({ token: github.token, baseUrl: url });
  return {
    ...faultable,
    channel,
    secret: github.token,
    to: github.issue,
    unknown: "acme/other#1",
    malformed: [
      "",
      "acme/app",
      "acme#1",
      "acme/..#1",
      "acme/app#0",
      "acme/app#1/2",
      "a/b/c#1",
      "acme/app#1/r",
      "acme/a%2Fb#1",
      "acme/app/commit/main",
    ],
    received: async () => (await github.comments()).map(shownText),
    faults: {
      rateLimited: {
        kind: "answer",
        status: 403,
        headers: { "retry-after": "9" },
        body: '{"message":"secondary rate limit"}',
      },
      retryAfterMs: 9000,
      refusedForGood: { kind: "answer", status: 403, body: '{"message":"Resource not accessible by integration"}' },
      brokenDown: { kind: "answer", status: 502, body: "<html>" },
    },
  };
});

describe("github", () => {
  let github: GithubServer;
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  beforeAll(async () => {
    github = await startGithub({ privateKey });
  });
  afterAll(() => github.close());

  const open = (options: object = {}) => createGithub({ token: github.token, baseUrl: github.baseUrl, ...options });
  const send = (message: object, channel = open()) =>
    channel.send({ to: github.issue, text: "Hello.", idempotencyKey: "d:0", ...message }, never);

  test("a text is neutral, and its hidden mark says which delivery it is", async () => {
    await send({ text: "@ada fixes #1", idempotencyKey: "d1:0" });
    expect((await github.comments()).at(-1)).toBe("@\u200Bada fix\u200Bes #1\n\n<!-- hookline:d1:0 -->");
    await send({ text: "@ada fixes #1 <!-- hookline:x -->" }, open({ allowMentions: true, allowClosing: true }));
    expect((await github.comments()).at(-1)).toMatch(/^@ada fixes #1 &lt;!-- hookline:x -->\n\n<!--/);
  });

  test("a message that may be there already is looked for, and not written twice", async () => {
    const first = await send({ idempotencyKey: "d2:0" });
    const count = (await github.comments()).length;
    expect(await send({ idempotencyKey: "d2:0", mayBeSent: true })).toEqual(first);
    expect(await github.comments()).toHaveLength(count);
    await send({ idempotencyKey: "d2:1", mayBeSent: true });
    expect(await github.comments()).toHaveLength(count + 1);
  });

  test("the newest of many comments are looked at", async () => {
    const { number } = (await github.asPerson("POST", "/repos/acme/app/issues", { title: "Long" })) as {
      number: number;
    };
    const to = `acme/app#${number}`;
    for (let index = 0; index < 101; index += 1) {
      await github.asPerson("POST", `/repos/acme/app/issues/${number}/comments`, { body: `${index}` });
    }
    const first = await send({ to, idempotencyKey: "d3:0" });
    expect(await send({ to, idempotencyKey: "d3:0", mayBeSent: true })).toEqual(first);
  });

  test("an update replaces the text; of a comment that is gone, a new one is written", async () => {
    const { messageId } = await send({ text: "Working." });
    const count = (await github.comments()).length;
    expect(await send({ text: "Done.", replaces: messageId })).toEqual({ messageId });
    expect((await github.comments()).map(shownText)).toContain("Done.");
    expect(await github.comments()).toHaveLength(count);
    const again = await send({ text: "Done.", replaces: `${messageId}99999` });
    expect(again.messageId).not.toBe(messageId);
    expect(await github.comments()).toHaveLength(count + 1);
  });

  test("a reply in the thread of a review, found and updated there", async () => {
    const pull = await github.openPullRequest();
    const comments = `/repos/acme/app/pulls/${pull.split("#")[1]}/comments`;
    const line = (await github.asPerson("POST", comments, { body: "Why?", path: "README.md", line: 1 })) as {
      id: number;
    };
    const to = `${pull}/r${line.id}`;
    const first = await send({ to, text: "Because.", idempotencyKey: "d4:0" });
    expect(first.messageId).toMatch(/\/acme\/app\/pull\/\d+#discussion_r\d+$/);
    expect(await send({ to, idempotencyKey: "d4:0", mayBeSent: true })).toEqual(first);
    await send({ to, text: "So that it works.", replaces: first.messageId });
    const bodies = ((await github.asPerson("GET", comments)) as { body: string }[]).map(({ body }) => shownText(body));
    expect(bodies).toEqual(["Why?", "So that it works."]);
  });

  test("a comment on a commit, which is found there and not edited", async () => {
    const { object } = (await github.asPerson("GET", "/repos/acme/app/git/ref/heads/main")) as {
      object: { sha: string };
    };
    const to = `acme/app/commit/${object.sha}`;
    const first = await send({ to, text: "Hello @ada.", idempotencyKey: "d5:0" });
    expect(first.messageId).toMatch(/#commitcomment-\d+$/);
    expect(await send({ to, idempotencyKey: "d5:0", mayBeSent: true })).toEqual(first);
    await send({ to, text: "Again.", idempotencyKey: "d5:1", replaces: first.messageId });
    const comments = await github.asPerson("GET", `/repos/acme/app/commits/${object.sha}/comments`);
    expect((comments as { body: string }[]).map(({ body }) => shownText(body))).toEqual(["Hello @ada.", "Again."]);
    await (
      await open().startWorking?.(to, never)
    )?.();
  });

  test("a GitHub App writes with a token of its installation, which it keeps", async () => {
    const proxy = await startFaultProxy(github.baseUrl);
    const channel = createGithub({
      app: { ...github.app, key: privateKey.replaceAll("\n", "\\n") },
      baseUrl: proxy.url,
    });
    await send({ text: "From the app." }, channel);
    await send({ text: "Again." }, channel);
    expect((await github.comments()).map(shownText)).toContain("From the app.");
    await failureOf(send({ to: "acme/app/discussions/1" }, channel));
    await failureOf(send({ to: `acme/app/commit/${"0".repeat(40)}` }, channel));
    const asked = proxy.requests.filter(({ path }) => path?.endsWith("/access_tokens")).map(({ body }) => body);
    expect(asked.map((body) => JSON.parse(body).permissions)).toEqual([
      { issues: "write", pull_requests: "write" },
      { discussions: "write" },
      { contents: "read" },
    ]);
    expect(proxy.requests.slice(0, 3).map(({ path }) => path?.replace(/\d+$/, ""))).toEqual([
      "/app/installations/70/access_tokens",
      "/repos/acme/app/issues/1/comments",
      "/repos/acme/app/issues/1/comments",
    ]);
    await proxy.close();
  });

  test("an app without an installation uses that of the event, or asks for that of the repository, once", async () => {
    const proxy = await startFaultProxy(github.baseUrl);
    const { id, key } = github.app;
    const channel = createGithub({ app: { id, key }, baseUrl: proxy.url });
    const event = (fullName: string, installation: unknown) => async () => ({
      payload: { repository: { full_name: fullName }, installation: { id: installation } },
    });
    const asked = (): (string | undefined)[] =>
      proxy.requests.map(({ path }) => path).filter((path) => path?.includes("installation"));
    await send({ text: "By the event.", readEvent: event("Acme/App", 70) }, channel);
    expect(asked()).toEqual(["/app/installations/70/access_tokens"]);
    for (const [name, installation] of [
      ["eve/app", 99],
      ["acme/app", "70/../99"],
      ["acme/app", -1],
    ] as const) {
      await send({ text: "By the repository.", readEvent: event(name, installation) }, channel);
    }
    await send({ text: "Without an event." }, channel);
    expect(asked()).toEqual(["/app/installations/70/access_tokens", "/repos/acme/app/installation"]);
    const missing = await failureOf(send({ to: "acme/other#1" }, channel));
    expect(missing).toMatchObject({
      retryable: false,
      message: expect.stringContaining("Install the app on the repository"),
    });
    await proxy.close();
  });

  test("a key that is none is a permanent error that does not show it", async () => {
    const error = await failureOf(
      send({}, createGithub({ app: { ...github.app, key: "k3y" }, baseUrl: github.baseUrl })),
    );
    expect(error.message).toMatch(/^channels\.github\.app\.key is not a private key/);
    expect(inspect(error, { depth: null })).not.toContain("k3y");
  });

  test.each([
    [{ status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "4102444800" } }, true, 1e11],
    [{ status: 403, body: '{"message":"You have exceeded a secondary rate limit."}' }, true, 60_000],
    [{ status: 429, headers: { "retry-after": "2" } }, true, 2000],
    [{ status: 404, body: '{"message":"Not Found"}' }, false, undefined],
  ])("%j", async (answer, retryable, atLeastMs) => {
    const proxy = await startFaultProxy(github.baseUrl);
    proxy.inject({ kind: "answer", body: "{}", ...answer });
    const error = await failureOf(send({}, open({ baseUrl: proxy.url })));
    expect(error.retryable).toBe(retryable);
    if (atLeastMs === undefined) expect(error.message).toContain("Check the recipient");
    else expect(error.retryAfterMs).toBeGreaterThanOrEqual(atLeastMs);
    await proxy.close();
  });

  test("eyes on the issue show that an answer is being written", async () => {
    const requests: string[] = [];
    const server = await startJsonServer(({ method, path, body }) => {
      requests.push(`${method} ${path} ${JSON.stringify(body)}`);
      return method === "POST" ? { status: 201, body: { id: 5 } } : { status: 204, body: "" };
    });
    const channel = createGithub({ token: "t", baseUrl: server.url });
    for (const to of ["acme/app#1", "acme/app#1/r3"]) await (await channel.startWorking?.(to, never))?.();
    expect(requests).toEqual([
      'POST /repos/acme/app/issues/1/reactions {"content":"eyes"}',
      "DELETE /repos/acme/app/issues/1/reactions/5 {}",
      'POST /repos/acme/app/pulls/comments/3/reactions {"content":"eyes"}',
      "DELETE /repos/acme/app/pulls/comments/3/reactions/5 {}",
    ]);
    await server.close();
  });
});
