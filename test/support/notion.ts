import { Client, type CommentObjectResponse } from "@notionhq/client";
import { toObject, toObjects } from "../../src/core/shared/json.ts";
import type { CommentService } from "./comment-server.ts";
import { TOKEN } from "./comment-suite.ts";

export const PAGE = "59e3eb41-33b2-4151-b05b-31115a15e1c2";
export const BLOCK = "5d4ca33c-d6b7-4675-93d9-84b70af45d1c";
export const COMMENT = "7a793800-3e55-4d5e-8009-2261de026179";
export const DISCUSSION = "f1407351-36f5-4c49-a13c-49f8ba11776d";

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
export const notion: CommentService = {
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
      path: /^\/v1\/comments\/[0-9a-f-]{36}$/,
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
