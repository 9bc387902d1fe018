import type { FromSchema } from "json-schema-to-ts";
import type { DriverDefinition } from "../../plugin.ts";
import { HTTP_URL, NON_BLANK, toObject, toObjects } from "../../shared/json.ts";
import type { ChannelDriver } from "../driver.ts";
import { type Call, createApi, isSuccess, recipientCheck, requireId } from "../http.ts";
import { type Dialect, renderMarkdown, withoutGroups } from "../markdown.ts";
import { createCommentChannel, GONE, toInvisibleMark } from "./comment.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  description: "Comments in Notion. The connection needs the capabilities to read and to insert comments.",
  required: ["token"],
  properties: {
    token: { ...NON_BLANK, description: "Token of an internal connection, to which the pages are shared." },
    baseUrl: { ...HTTP_URL, description: "Default: https://api.notion.com." },
  },
} as const;

type NotionOptions = FromSchema<typeof schema>;

export const notion: DriverDefinition<ChannelDriver, NotionOptions> = { schema, create: createNotion };

const ADVICE = new Map([
  [401, "Check channels.notion.token."],
  [403, "Give the connection the capabilities to read and to insert comments."],
  [404, "Check the recipient, and that the page is shared with the connection."],
]);

const ID = "[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}";
const PLACE = new RegExp(`^(?:(?<page>${ID})|comment/(?<comment>${ID}))$`, "i");

/** Comments on pages, and replies in the discussion of a comment. */
export function createNotion({ token, baseUrl = "https://api.notion.com" }: NotionOptions): ChannelDriver {
  const open = createApi({
    service: "Notion",
    baseUrl,
    root: "/v1/comments",
    token,
    headers: () => ({ authorization: `Bearer ${token}`, "notion-version": "2025-09-03" }),
    advice: ADVICE,
  });
  return createCommentChannel(
    {
      name: "notion",
      limit: 20_000,
      checkRecipient: recipientCheck(
        PLACE,
        "a page's id such as 59e3eb4133b24151b05b31115a15e1c2, or comment/ and a comment's id for a reply in its discussion",
      ),
      toMark: toInvisibleMark,
      async render({ text, format }, mark) {
        const runs = format === "markdown" ? toRuns(await renderMarkdown(text, RICH_TEXT)) : toPlainRuns(text);
        return { rich_text: [...toPlainRuns(mark), ...(runs.length < MAX_RUNS ? runs : toPlainRuns(text))] };
      },
      async add(to, body, call) {
        const { target } = await locate(to, call);
        const answer = await call("POST", "", { ...target, ...body });
        return requireId(answer.body["id"], "Notion");
      },
      async edit(_, messageId, body, call) {
        return isSuccess(await call("PATCH", `/${encodeURIComponent(messageId)}`, body, GONE));
      },
      async find(to, mark, call) {
        const { block } = await locate(to, call);
        return findMarked(block, mark, call);
      },
    },
    open,
  );
}

/** Where a comment goes, as Notion takes it, and the page or block whose comments it is among. */
async function locate(to: string, call: Call): Promise<{ target: object; block: string }> {
  const { page = "", comment } = PLACE.exec(to)?.groups ?? {};
  if (comment === undefined) return { target: { parent: { page_id: page } }, block: page };
  const { body } = await call("GET", `/${comment}`);
  const { page_id: pageId, block_id: blockId } = toObject(body["parent"]);
  return {
    target: { discussion_id: requireId(body["discussion_id"], "Notion") },
    block: requireId(pageId ?? blockId, "Notion"),
  };
}

const MAX_PAGES = 10;

/** Among the oldest thousand: Notion gives them in this order. */
async function findMarked(block: string, mark: string, call: Call): Promise<string | undefined> {
  let query = `block_id=${block}&page_size=100`;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { body } = await call("GET", `?${query}`);
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

/** With at most 2,000 characters in each: https://developers.notion.com/reference/request-limits */
const MAX_RUNS = 100;

/** A piece of text with its style. It mentions nobody and shows no image, whatever its text is. */
interface Run {
  text: { content: string; link?: { url: string } };
  annotations?: Record<string, boolean>;
}

const STYLES = ["bold", "italic", "strikethrough", "code", "link"] as const;
type Style = (typeof STYLES)[number];

/** While a text is rendered, a character for private use begins each style, and the one after it ends it. */
const FIRST = 0xe000;
const SWITCH = /([\uE000-\uE009])/;

function style(name: Style): (inner: string) => string {
  const begin = FIRST + 2 * STYLES.indexOf(name);
  return (inner) => `${String.fromCodePoint(begin)}${inner}${String.fromCodePoint(begin + 1)}`;
}

const asText = (plain: string): string => withoutGroups(plain.replaceAll(/[\uE000-\uE009]/g, ""));

/** https://developers.notion.com/reference/rich-text */
const RICH_TEXT: Dialect = {
  text: asText,
  strong: style("bold"),
  em: style("italic"),
  del: style("strikethrough"),
  code: (plain) => style("code")(asText(plain)),
  codeBlock: (plain) => style("code")(asText(plain)),
  quote: (inner) => inner.replaceAll(/^/gm, "> "),
  heading: style("bold"),
  address: (url) => style("link")(asText(url)),
};

function toRuns(rendered: string): Run[] {
  const depths = STYLES.map(() => 0);
  const runs: Run[] = [];
  for (const piece of rendered.split(SWITCH)) {
    if (SWITCH.test(piece)) {
      const place = piece.charCodeAt(0) - FIRST;
      depths[place >> 1] = (depths[place >> 1] ?? 0) + (place % 2 === 0 ? 1 : -1);
    } else {
      const styles = STYLES.filter((_, index) => depths[index]);
      runs.push(...toPlainRuns(piece).map((run) => withStyles(run, styles)));
    }
  }
  return runs;
}

function withStyles({ text: { content } }: Run, styles: Style[]): Run {
  // A longer address is in several runs.
  const link = styles.includes("link") && URL.canParse(content) ? { url: content } : undefined;
  const annotations = Object.fromEntries(styles.filter((name) => name !== "link").map((name) => [name, true]));
  return { text: { content, ...(link && { link }) }, annotations };
}

/** No run ends in the middle of a character. */
function toPlainRuns(text: string): Run[] {
  const pieces = text.match(/[^]{1,2000}(?<![\uD800-\uDBFF])/g) ?? [];
  return pieces.map((content) => ({ text: { content } }));
}
