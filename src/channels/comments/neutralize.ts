import type { MarkdownParser } from "@lezer/markdown";

/** What a reply may do, as options of a channel's block. Its text comes from a model that has read a payload. */
interface Allowances {
  allowMentions?: boolean;
  allowClosing?: boolean;
  allowImages?: boolean;
}

export const ALLOWANCES = {
  allowMentions: { type: "boolean", default: false, description: "`@name` in a reply notifies people and teams." },
  allowClosing: { type: "boolean", default: false, description: "`fixes #1` in a reply can close an issue." },
  allowImages: {
    type: "boolean",
    default: false,
    description: "A reply shows images of other hosts, whose servers learn who looks at it.",
  },
} as const;

/** The options that keep a reply from doing anything but being read. `host` is the place's own, whose images are shown. */
export interface NeutralizeOptions extends Allowances {
  host: string;
}

/** A zero-width space: it ends a mention, a keyword or a command, and the text looks the same. */
const GAP = "\u200B";

/** Tags without attributes that only arrange text. */
const SAFE_TAGS = "b|br|code|dd|del|details|dl|dt|em|hr|i|ins|kbd|li|ol|p|pre|s|strong|sub|summary|sup|ul";
const UNSAFE_TAG = new RegExp(`<(?=[a-z/!?])(?!/?(?:${SAFE_TAGS})\\s*/?>)`, "gi");

/** `@name` and `@{id}`, with a character reference for `@` too. An address such as ada@example.com is none. */
const MENTION = /(?:(?<![A-Za-z0-9])@|&#0*64;|&#x0*40;|&commat;)(?=[^\s\u200B])/gi;

const REFERENCE = /\[?(?:[\w./-]*[#!&]\w|gh-\d|https?:|[a-z]\w*-\d)/.source;

/** `fixes #1`, `Closes: acme/app#1`, `resolving ENG-12`. */
const CLOSING = new RegExp(
  `(?<![a-z])(?:clos|fix|implement|resolv)(?=(?:e|ed|es|ing|s|d)?:?\\s+(?:issues?\\s+)?${REFERENCE})`,
  "gi",
);

/** A line that starts with `/merge` commands GitLab, and bots elsewhere. */
const COMMAND = /^[ \t]*(?=\/[a-z])/gim;

/**
 * Markdown that the place shows, without effects: nobody is notified, no issue is closed, no command is executed, no image
 * is loaded from another host, no HTML hides anything. Code and the addresses of links stay as they are.
 */
export async function neutralize(markdown: string, options: NeutralizeOptions): Promise<string> {
  const parse = await loadParser();
  const text = escapeTags(markdown, parse);
  const { kept, images } = findParts(text, parse);
  const gaps = [
    ...(options.allowMentions ? [] : findEnds(text, MENTION)),
    ...(options.allowClosing ? [] : findEnds(text, CLOSING)),
    ...findEnds(text, COMMAND),
  ].filter((at) => !isWithin(kept, at));
  const shown = images.filter(({ url }) => !options.allowImages && isForeign(url, options.host)).map(({ at }) => at);
  return insertGaps(text, [...gaps, ...shown]);
}

/** Plain text without effects, also in a chat that the place passes it on to. Addresses stay as they are. */
export function neutralizePlain(text: string): string {
  const kept = Array.from(text.matchAll(/https?:\/\/\S+/gi), ({ index, 0: url }) => ({
    start: index,
    end: index + url.length,
  }));
  const effects = [MENTION, GROUP, CLOSING, COMMAND].flatMap((pattern) => findEnds(text, pattern));
  return insertGaps(
    text,
    effects.filter((at) => !isWithin(kept, at)),
  );
}

/** `<!channel>` notifies everyone in a channel of Slack. */
const GROUP = /<(?=!)/g;

type Parse = (text: string) => ReturnType<MarkdownParser["parse"]>;

/** Markdown as forges read it. Its positions are exact, and it takes little time for any text. */
async function loadParser(): Promise<Parse> {
  const { Autolink, parser } = await import("@lezer/markdown");
  const markdown = parser.configure([Autolink]);
  return (text) => markdown.parse(text);
}

/** An escaped tag can uncover others, because what was a block of HTML becomes Markdown. */
const MAX_PASSES = 8;

function escapeTags(markdown: string, parse: Parse): string {
  let text = markdown;
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const { kept } = findParts(text, parse);
    const escaped = text.replace(UNSAFE_TAG, (tag, at: number) => (isWithin(kept, at) ? tag : "&lt;"));
    if (escaped === text) return text;
    text = escaped;
  }
  return text.replaceAll("<", "&lt;");
}

/** Offsets in the source, the end excluded. */
interface Range {
  start: number;
  end: number;
}

interface Parts {
  /** Code and addresses, in order. */
  kept: Range[];
  /** Each with the place behind its `!`. Without a URL: it is defined elsewhere. */
  images: { at: number; url?: string }[];
}

const KEPT = new Set(["Autolink", "CodeBlock", "FencedCode", "InlineCode", "LinkReference", "URL"]);

/** The parser takes quadratic time for these: nothing in such a text is kept, and each `!` before a bracket counts. */
const TOO_DEEP = /^(?:[ \t]*(?:[-+*>]|\d{1,9}[.)])){50}|(?:\[[^[]*){1000}/m;

function findParts(text: string, parse: Parse): Parts {
  if (TOO_DEEP.test(text)) return { kept: [], images: findEnds(text, /!(?=\[)/g).map((at) => ({ at })) };
  const parts: Parts = { kept: [], images: [] };
  parse(text).iterate({
    enter({ name, from: start, to: end, node }) {
      if (name === "Image") {
        const url = node.getChild("URL");
        parts.images.push({ at: start + 1, url: url ? text.slice(url.from, url.to) : undefined });
      }
      if (!KEPT.has(name)) return true;
      parts.kept.push({ start, end });
      return false;
    },
  });
  return parts;
}

function findEnds(text: string, pattern: RegExp): number[] {
  return Array.from(text.matchAll(pattern), ({ index, 0: found }) => index + found.length);
}

/** Binary search in ordered ranges. */
function isWithin(ranges: Range[], at: number): boolean {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ranges[middle]?.end ?? 0) > at) high = middle;
    else low = middle + 1;
  }
  const range = ranges[low];
  return range !== undefined && range.start <= at;
}

function isForeign(url: string | undefined, host: string): boolean {
  const base = `https://${host}/`;
  return url === undefined || !URL.canParse(url, base) || new URL(url, base).host !== host;
}

function insertGaps(text: string, places: number[]): string {
  let start = 0;
  let result = "";
  for (const at of [...new Set(places)].toSorted((a, b) => a - b)) {
    result += text.slice(start, at) + GAP;
    start = at;
  }
  return result + text.slice(start);
}
