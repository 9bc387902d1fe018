import { Client, type CommentObjectResponse, isFullComment } from "@notionhq/client";
import { expect, test } from "vitest";
import { type CommentService, startComments } from "../../../test/support/comment-server.ts";
import { describeComments, TOKEN } from "../../../test/support/comment-suite.ts";
import { withoutMark } from "../../../test/support/comments.ts";
import { toObject, toObjects } from "../../shared/json.ts";
import { createNotion } from "./notion.ts";

const PAGE = "59e3eb41-33b2-4151-b05b-31115a15e1c2";
const BLOCK = "5d4ca33c-d6b7-4675-93d9-84b70af45d1c";
const COMMENT = "7a793800-3e55-4d5e-8009-2261de026179";
const DISCUSSION = "f1407351-36f5-4c49-a13c-49f8ba11776d";

const toComment = ({ id, text }: { id: string; text: string }): CommentObjectResponse => ({
  object: "comment",
  id: `00000000-0000-4000-8000-${id.padStart(12, "0")}`,
  parent: { type: "page_id", page_id: PAGE },
  discussion_id: DISCUSSION,
  created_time: "2026-07-15T20:53:00.000Z",
  last_edited_time: "2026-07-15T20:53:00.000Z",
  created_by: { object: "user", id: "067dee40-6ebd-496f-b446-093c715fb5ec" },
  rich_text: [
    {
      type: "text",
      text: { content: text, link: null },
      annotations: {
        bold: false,
        italic: false,
        strikethrough: false,
        underline: false,
        code: false,
        color: "default",
      },
      plain_text: text,
      href: null,
    },
  ],
  display_name: { type: "integration", resolved_name: "Agent" },
});

/** Notion refuses what is over its limits, and other places than this one. */
function textOf({ rich_text: runs, parent, discussion_id: discussion }: Record<string, unknown>): string | undefined {
  const contents = toObjects(runs).map(({ text }) => String(toObject(text)["content"]));
  const places = [toObject(parent)["page_id"], discussion].filter((place) => place !== undefined);
  if (places.length > 1 || places.some((place) => place !== PAGE && place !== DISCUSSION)) return undefined;
  return contents.length > 100 || contents.some(({ length }) => length > 2000) ? undefined : contents.join("");
}

/** https://developers.notion.com/reference/create-a-comment and the pages beside it. */
const service: CommentService = {
  isAuthorized: (headers) =>
    headers.authorization === `Bearer ${TOKEN}` && headers["notion-version"] === Client.defaultNotionVersion,
  refuse: (status) => ({ status, body: { object: "error", status, code: "refused", message: "Refused" } }),
  routes: [
    {
      method: "POST",
      path: /^\/v1\/comments$/,
      kind: "add",
      textOf,
      toAnswer: (comments) => ({ status: 200, body: comments.map(toComment)[0] }),
    },
    {
      method: "PATCH",
      path: /^\/v1\/comments\/00000000-0000-4000-8000-0*(\d)$/,
      kind: "edit",
      textOf,
      toAnswer: (comments) => ({ status: 200, body: comments.map(toComment)[0] }),
    },
    {
      method: "GET",
      path: new RegExp(`^/v1/comments/${COMMENT}$`),
      kind: "list",
      textOf: () => "",
      toAnswer: () => ({
        status: 200,
        body: { ...toComment({ id: "1", text: "Is it slow?" }), parent: { type: "block_id", block_id: BLOCK } },
      }),
    },
    {
      method: "GET",
      path: new RegExp(`^/v1/comments\\?block_id=(?:${PAGE}|${BLOCK})&page_size=100$`),
      kind: "list",
      textOf: () => "",
      // A page of this double has two comments: the others come with the cursor.
      toAnswer: (comments) => toList(comments.slice(0, 2).map(toComment), comments.length > 2 ? "more" : null),
    },
    {
      method: "GET",
      path: new RegExp(`^/v1/comments\\?block_id=(?:${PAGE}|${BLOCK})&page_size=100&start_cursor=more$`),
      kind: "list",
      textOf: () => "",
      toAnswer: (comments) => toList(comments.slice(2).map(toComment), null),
    },
  ],
};

function toList(results: CommentObjectResponse[], cursor: string | null): { status: number; body: object } {
  const list = {
    object: "list",
    results,
    next_cursor: cursor,
    has_more: cursor !== null,
    type: "comment",
    comment: {},
  };
  return { status: 200, body: list };
}

const open = (baseUrl: string) => createNotion({ token: TOKEN, baseUrl });
const never = new AbortController().signal;

describeComments("notion", {
  service,
  open,
  to: PAGE,
  unknown: "00000000-0000-0000-0000-000000000000",
  malformed: ["", "My page", "59e3eb41", `${PAGE}/comments`, `comment/${PAGE}/`, `../${PAGE}`],
  raw: expect.stringMatching(/^\u2063\u2063[\u200B-\u200D\u2060]{32}Hello @ada\.$/),
  toText: withoutMark,
});

test("Notion's own client finds what it needs in the double", async () => {
  const server = await startComments(service);
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
  const server = await startComments(service);
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
  const routes = service.routes.map((route) => ({
    ...route,
    textOf(body: Record<string, unknown>) {
      bodies.push(body);
      return route.textOf(body);
    },
  }));
  const server = await startComments({ ...service, routes });
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

test("a text with more styles than Notion takes is written without them", async () => {
  const server = await startComments(service);
  const text = "**a** b ".repeat(200).trim();
  await open(server.baseUrl).send({ to: PAGE, text, format: "markdown", idempotencyKey: "d:0" }, never);
  expect(server.texts().map(withoutMark)).toEqual([text]);
  await server.close();
});
