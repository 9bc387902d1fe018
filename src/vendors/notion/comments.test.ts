import { Client, isFullComment } from "@notionhq/client";
import { expect, test } from "vitest";
import { startComments } from "../../../test/support/comment-server.ts";
import { describeComments, TOKEN } from "../../../test/support/comment-suite.ts";
import { BLOCK, COMMENT, DISCUSSION, notion, PAGE } from "../../../test/support/notion.ts";
import { withoutMark } from "../../../test/support/comments.ts";
import { splitIntoParts } from "../../core/dispatch/parts.ts";
import { toObjects } from "../../core/shared/json.ts";
import { describeRefusals } from "../../../test/support/vendors/refusals.ts";
import { createNotion } from "./comments.ts";

const open = (baseUrl: string) => createNotion({ token: TOKEN, baseUrl });
const never = new AbortController().signal;

describeComments("notion", {
  service: notion,
  open,
  to: PAGE,
  unknown: "00000000-0000-0000-0000-000000000000",
  malformed: ["", "My page", "59e3eb41", `${PAGE}/comments`, `comment/${PAGE}/`, `../${PAGE}`],
  raw: expect.stringMatching(/^\u2063\u2063[\u200B-\u200D\u2060]{32}Hello @ada\.$/),
  toText: withoutMark,
});

test("Notion's own client finds what it needs in the double", async () => {
  const server = await startComments(notion);
  const client = new Client({ auth: TOKEN, baseUrl: server.baseUrl.replace(/\/$/, "") });
  const rich = (content: string) => [{ text: { content } }];
  const { id } = await client.comments.create({ parent: { page_id: PAGE }, rich_text: rich("One.") });
  await client.comments.update({ comment_id: id, rich_text: rich("Two.") });
  await client.comments.create({ discussion_id: DISCUSSION, rich_text: rich("Three.") });
  const { results } = await client.comments.list({ block_id: PAGE, page_size: 100 });
  expect(results.map(({ rich_text: [run] }) => run?.plain_text)).toEqual(["Two.", "Three."]);
  const comment = await client.comments.retrieve({ comment_id: COMMENT });
  expect(isFullComment(comment) && comment.discussion_id).toBe(DISCUSSION);
  await server.close();
});

test("a reply goes into the discussion of a comment, and is found among those of its block", async () => {
  const server = await startComments(notion);
  const channel = open(server.baseUrl);
  const message = { to: `comment/${COMMENT}`, text: "Yes.", idempotencyKey: "d:0" };
  channel.checkRecipient(message.to);
  for (const idempotencyKey of ["a", "b"]) await channel.send({ ...message, idempotencyKey }, never);
  const sent = await channel.send(message, never);
  server.requests.length = 0;
  expect(await channel.send({ ...message, mayBeSent: true }, never)).toEqual(sent);
  expect(server.requests).toEqual([
    `GET /v1/comments/${COMMENT}`,
    `GET /v1/comments?block_id=${BLOCK}&page_size=100`,
    `GET /v1/comments?block_id=${BLOCK}&page_size=100&start_cursor=more`,
  ]);
  await server.close();
});

test("Markdown becomes runs with a style; an address is a link that shows it, and nothing mentions anyone", async () => {
  const bodies: Record<string, unknown>[] = [];
  const routes = notion.routes.map((route) => ({
    ...route,
    textOf(body: Record<string, unknown>) {
      bodies.push(body);
      return route.textOf(body);
    },
  }));
  const server = await startComments({ ...notion, routes });
  const text = "It is **done, *really***: `x` [see](https://x.test/1)\n\n\uE000@ada ![](https://x.test/2)";
  await open(server.baseUrl).send({ to: PAGE, text, format: "markdown", idempotencyKey: "d:0" }, never);
  const runs = toObjects(bodies[0]?.["rich_text"]);
  expect(runs.shift()).toEqual({ text: { content: expect.stringMatching(/^\u2063/) } });
  const plain = { annotations: {} };
  expect(runs).toEqual([
    { ...plain, text: { content: "It is " } },
    { text: { content: "done, " }, annotations: { bold: true } },
    { text: { content: "really" }, annotations: { bold: true, italic: true } },
    { ...plain, text: { content: ": " } },
    { text: { content: "x" }, annotations: { code: true } },
    { ...plain, text: { content: " see (" } },
    { ...plain, text: { content: "https://x.test/1", link: { url: "https://x.test/1" } } },
    { ...plain, text: { content: ")\n\n@ada image " } },
    { text: { content: "https://x.test/2" }, annotations: { code: true } },
  ]);
  await server.close();
});

test("a reply with more styles than Notion takes is split", async () => {
  const text = "**a** b ".repeat(200).trim();
  const { parts } = await splitIntoParts(text, open("https://notion.test"), "markdown");
  expect(parts.length).toBeGreaterThan(1);
  for (const part of parts) expect(part.match(/\*\*a\*\*/g)?.length).toBeLessThan(50);
});

test("a text with more styles than Notion takes is written without them", async () => {
  const server = await startComments(notion);
  const text = "**a** b ".repeat(200).trim();
  await open(server.baseUrl).send({ to: PAGE, text, format: "markdown", idempotencyKey: "d:0" }, never);
  expect(server.texts().map(withoutMark)).toEqual([text]);
  await server.close();
});

const sendAt = (baseUrl: string, more: object = {}) =>
  open(baseUrl).send({ to: PAGE, text: "Hello.", idempotencyKey: "d:0", ...more }, never);

describeRefusals("Notion", {
  uses: {
    "a comment": { call: (baseUrl) => sendAt(baseUrl) },
    "the discussion of a comment": { call: (baseUrl) => sendAt(baseUrl, { to: `comment/${COMMENT}` }) },
    "a comment that may be there": { call: (baseUrl) => sendAt(baseUrl, { mayBeSent: true }) },
    "an edited comment": { call: (baseUrl) => sendAt(baseUrl, { replaces: COMMENT }) },
    "a removed comment": { call: async (baseUrl) => open(baseUrl).remove?.(PAGE, COMMENT, never), expected: [404] },
  },
  // https://developers.notion.com/reference/request-limits
  limits: {
    "of requests": { status: 429, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
    "of the whole service": { status: 529, headers: { "retry-after": "2" }, body: {}, retryAfterMs: 2000 },
  },
});
