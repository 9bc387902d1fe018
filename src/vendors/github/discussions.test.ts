import { describe, expect, test } from "vitest";
import { shownText } from "../../../test/support/comments.ts";
import { openFaultServer } from "../../../test/support/fault-server.ts";
import { startDiscussions } from "../../../test/support/vendors/github-discussions.ts";
import { startJsonServer } from "../../../test/support/json-server.ts";
import { describeRemoteChannel } from "../../contracts/channel.ts";
import { failureOf } from "../../contracts/harness.ts";
import { createGithub } from "./comments.ts";

const token = "ghp_agent-000000";
const to = "acme/app/discussions/12";
const never = new AbortController().signal;
const refusal = (type?: string): string => JSON.stringify({ data: null, errors: [{ type, message: "Refused" }] });

describeRemoteChannel({ describe, test }, "github discussions", async () => {
  const github = await startDiscussions(token);
  const { databaseId } = github.write("Is it slow?");
  const { url, ...faultable } = await openFaultServer(github, github.baseUrl);
  return {
    ...faultable,
    channel: createGithub({ token, baseUrl: url }),
    secret: token,
    to,
    thread: `${to}/r${databaseId}`,
    unknown: "acme/app/discussions/13",
    malformed: ["acme/app/discussions", "acme/app/discussions/0", "acme/../discussions/1", "acme/app/discussions/12/r"],
    received: async () => github.comments.slice(1).map(({ body }) => shownText(body)),
    faults: {
      rateLimited: { kind: "answer", status: 200, headers: { "retry-after": "9" }, body: refusal("RATE_LIMITED") },
      retryAfterMs: 9000,
      refusedForGood: { kind: "answer", status: 200, body: refusal("FORBIDDEN") },
      brokenDown: { kind: "answer", status: 200, body: refusal() },
    },
  };
});

test("a comment in a discussion is found, edited, and written anew once it is gone", async () => {
  const github = await startDiscussions(token);
  const channel = createGithub({ token, baseUrl: github.baseUrl });
  const message = { to, text: "Hello @ada.", idempotencyKey: "d:0" };
  github.loseAnswer();
  expect((await failureOf(channel.send(message, never))).retryable).toBe(true);
  const sent = await channel.send({ ...message, mayBeSent: true }, never);
  expect(sent).toEqual({ messageId: "https://github.com/acme/app/discussions/12#discussioncomment-1000" });
  expect(github.comments.map(({ body }) => body)).toEqual(["Hello @\u200Bada.\n\n<!-- hookline:d:0 -->"]);
  await channel.send({ ...message, text: "Done.", replaces: sent.messageId }, never);
  await channel.send({ ...message, text: "Again.", replaces: `${sent.messageId}9` }, never);
  expect(github.comments.map(({ body }) => shownText(body))).toEqual(["Done.", "Again."]);
  await github.close();
});

test("a reply goes below the comment that began the thread, and is found there; of an old one it is a comment", async () => {
  const github = await startDiscussions(token);
  const channel = createGithub({ token, baseUrl: github.baseUrl });
  const first = github.write("Is it slow?");
  const message = { to: `${to}/r${first.databaseId}`, text: "Yes.", idempotencyKey: "d:0" };
  const sent = await channel.send(message, never);
  expect(await channel.send({ ...message, mayBeSent: true }, never)).toEqual(sent);
  await channel.send({ ...message, to: `${to}/r99`, idempotencyKey: "d:1" }, never);
  expect(github.comments.map(({ replyTo }) => replyTo)).toEqual([undefined, first.id, undefined]);
  const stop = await channel.startWorking?.(message.to, never);
  expect(github.reactions).toEqual([first.id]);
  await stop?.();
  expect(github.reactions).toEqual([]);
  await github.close();
});

test("GitHub Enterprise Server has GraphQL beside its REST API", async () => {
  const paths: unknown[] = [];
  const server = await startJsonServer(({ path }) => {
    paths.push(path);
    return { status: 404, body: {} };
  });
  const channel = createGithub({ token, baseUrl: `${server.url}api/v3` });
  await failureOf(channel.send({ to, text: "Yes.", idempotencyKey: "d:0" }, never));
  expect(paths).toEqual(["/api/graphql"]);
  await server.close();
});
