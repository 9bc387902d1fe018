import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, toObject, toObjects, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { type Call, createApi, isSuccess, recipientCheck, requireId } from "../kit/http.ts";
import { type Dialect, renderMarkdown } from "../kit/text/markdown.ts";
import { createStyles } from "../kit/text/styles.ts";
import { createCommentChannel, GONE } from "../kit/comments/comment.ts";
import { toInvisibleMark } from "../kit/comments/mark.ts";

const schema = {
  description: "Comments in Notion. The connection needs the capabilities to read and to insert comments.",
  ...objectSchema(["token"], {
    token: { ...NON_BLANK, description: "Token of an internal connection, to which the pages are shared." },
    baseUrl: { ...HTTP_URL, description: "Default: https://api.notion.com." },
  }),
} as const;

type NotionOptions = FromSchema<typeof schema>;

export const notion: ChannelDefinition<NotionOptions> = {
  schema,
  create: createNotion,
  about: {
    to: "a page's id, or `comment/` and a comment's id for a reply in its discussion",
    needs: "*Read comments*, *Insert comments*",
    testedAgainst: "a double, which Notion's client uses too",
  },
};

const ID = "[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}";
const RECIPIENT = new RegExp(`^(?:(?<page>${ID})|comment/(?<comment>${ID}))$`, "i");

/** Comments on pages, and replies in the discussion of a comment. */
export function createNotion({ token, baseUrl = "https://api.notion.com" }: NotionOptions): ChannelDriver {
  const open = createApi({
    service: "Notion",
    baseUrl,
    root: "/v1",
    token,
    headers: () => ({ authorization: `Bearer ${token}`, "notion-version": "2025-09-03" }),
    advice: new Map([
      [401, "Check channels.notion.token."],
      [403, "Give the connection the capabilities to read and to insert comments."],
      [404, "Check the recipient, and that the page is shared with the connection."],
    ]),
  });
  return createCommentChannel(
    {
      name: "notion",
      limit: LIMIT,
      // Notion also limits how many pieces with their own style a comment has.
      async measureMarkdown(text) {
        const runs = toRuns(await renderMarkdown(text, RICH_TEXT));
        return Math.max(text.length, Math.ceil((runs.length / (MAX_RUNS - 1)) * LIMIT));
      },
      checkRecipient: recipientCheck(
        RECIPIENT,
        "a page's id such as 59e3eb4133b24151b05b31115a15e1c2, or comment/ and a comment's id for a reply in its discussion",
      ),
      toMark: toInvisibleMark,
      async render({ text, format }, toMark) {
        const runs = format === "markdown" ? toRuns(await renderMarkdown(text, RICH_TEXT)) : toPlainRuns(text);
        return { rich_text: [...toPlainRuns(toMark()), ...(runs.length < MAX_RUNS ? runs : toPlainRuns(text))] };
      },
      async add(to, body, call) {
        const { target } = await locate(to, call);
        const answer = await call("POST", "/comments", { ...target, ...body });
        return requireId(answer.body["id"], "Notion");
      },
      async edit(_, messageId, body, call) {
        return isSuccess(await call("PATCH", `/comments/${encodeURIComponent(messageId)}`, body, GONE));
      },
      async find(to, mark, call) {
        const { block } = await locate(to, call);
        return findInPages(block, mark, call);
      },
    },
    open,
  );
}

/** Where a comment goes, as Notion takes it, and the page or block whose comments it is among. */
async function locate(to: string, call: Call): Promise<{ target: object; block: string }> {
  const { page = "", comment } = RECIPIENT.exec(to)?.groups ?? {};
  if (comment === undefined) return { target: { parent: { page_id: page } }, block: page };
  const { body } = await call("GET", `/comments/${comment}`);
  const { page_id: pageId, block_id: blockId } = toObject(body["parent"]);
  return {
    target: { discussion_id: requireId(body["discussion_id"], "Notion") },
    block: requireId(pageId ?? blockId, "Notion"),
  };
}

const MAX_PAGES = 10;

/** Among the oldest thousand: Notion gives them in this order. */
async function findInPages(block: string, mark: string, call: Call): Promise<string | undefined> {
  let query = `block_id=${block}&page_size=100`;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { body } = await call("GET", `/comments?${query}`);
    const found = toObjects(body["results"]).find((comment) => toPlainText(comment).startsWith(mark));
    if (found) return requireId(found["id"], "Notion");
    const next = body["next_cursor"];
    if (typeof next !== "string") return undefined;
    query = `block_id=${block}&page_size=100&start_cursor=${encodeURIComponent(next)}`;
  }
  return undefined;
}

function toPlainText(comment: Record<string, unknown>): string {
  return toObjects(comment["rich_text"])
    .map((run) => String(run["plain_text"]))
    .join("");
}

const LIMIT = 20_000;

/** With at most 2,000 characters in each: https://developers.notion.com/reference/request-limits */
const MAX_RUNS = 100;

/** A piece of text with its style. It mentions nobody and shows no image, whatever its text is. */
interface Run {
  text: { content: string; link?: { url: string } };
  annotations?: Record<string, boolean>;
}

const STYLES = ["bold", "italic", "strikethrough", "code", "link"] as const;
type Style = (typeof STYLES)[number];

const styles = createStyles(STYLES);

/** https://developers.notion.com/reference/rich-text */
const RICH_TEXT: Dialect = {
  text: styles.text,
  strong: styles.mark("bold"),
  em: styles.mark("italic"),
  del: styles.mark("strikethrough"),
  code: (plain) => styles.mark("code")(styles.text(plain)),
  codeBlock: (plain) => styles.mark("code")(styles.text(plain)),
  quote: (inner) => inner.replaceAll(/^/gm, "> "),
  heading: styles.mark("bold"),
  address: (url) => styles.mark("link")(styles.text(url)),
};

function toRuns(rendered: string): Run[] {
  return styles.split(rendered).flatMap((piece) => toPlainRuns(piece.text).map((run) => withStyles(run, piece.styles)));
}

function withStyles({ text: { content } }: Run, names: Style[]): Run {
  // A longer address is in several runs.
  const link = names.includes("link") && URL.canParse(content) ? { url: content } : undefined;
  const annotations = Object.fromEntries(names.filter((name) => name !== "link").map((name) => [name, true]));
  return { text: { content, ...(link && { link }) }, annotations };
}

/** No run ends in the middle of a character. */
function toPlainRuns(text: string): Run[] {
  const pieces = text.match(/[^]{1,2000}(?<![\uD800-\uDBFF])/g) ?? [];
  return pieces.map((content) => ({ text: { content } }));
}
