import { ADDRESS, AUTOLINK, findCertain, type Range, SAFE_TAGS } from "./certain.ts";

/** Allowed effects of a reply, as options of a channel's block. Its text comes from a model that has read a payload. */
export const ALLOWANCES = {
  allowMentions: { type: "boolean", default: false, description: "`@name` in a reply notifies people and teams." },
  allowClosing: { type: "boolean", default: false, description: "`fixes #1` in a reply can close an issue." },
  allowImages: {
    type: "boolean",
    default: false,
    description: "A reply shows images of other hosts, whose servers learn who looks at it.",
  },
} as const;

/** The options that keep a reply from doing anything but being read. `host`: the service's own, whose images are shown. */
export interface NeutralizeOptions extends Partial<Record<keyof typeof ALLOWANCES, boolean>> {
  host: string;
}

/** A zero-width space: it ends a mention, a keyword or a command, and the text looks the same. */
const GAP = "\u200B";

const UNSAFE_TAG = new RegExp(`<(?=[a-z/!?])(?!/?(?:${SAFE_TAGS})\\s*/?>)`, "gi");

/**
 * `@name` and `@{id}`, with a character reference for `@` too. An address such as ada@example.com is none, but it may end
 * before a second `@`.
 */
const MENTION = /(?:(?<![A-Za-z0-9])@|@(?<=@[^\s@]{0,300}@)|&#0*64;?|&#x0*40(?![\da-f]);?|&commat;)(?=[^\s\u200B])/gi;

const REFERENCE = /(?:[\w./-]*[#!&]\w|gh-\d|https?:|[a-z]\w*-\d)/.source;

const LINK_END = /\]?(?:\[[^[\]\n]*\]|\([^()\n]*\))/.source;

/** `fixes #1`, `Closes: acme/app#1`, `resolving ENG-12`. */
const CLOSING = new RegExp(
  `(?:clos|fix|implement|reopen|resolv)(?=(?:e|ed|es|ing|s|d)?(?:[\\s:)]|\\](?![[(])|${LINK_END})+(?:issues?\\s+)?\\[*${REFERENCE})`,
  "gi",
);

/** A line that starts with `/merge` commands GitLab, and bots elsewhere. */
const COMMAND = /^[^\S\n\r\u2028\u2029]*(?=\/[a-z])/gim;

/** Characters that Markdown does not show, without line ends and tabs. */
const CONTROLS = /[^\P{Cc}\t\n]/gu;

/**
 * Markdown that the service shows, without effects: nobody is notified, no issue is closed, no command is executed, no
 * image is loaded from another host, no HTML hides anything. That does not depend on how the service reads Markdown: only
 * certain code and certain addresses stay as they are.
 */
export function neutralize(markdown: string, options: NeutralizeOptions): string {
  const text = markdown.replaceAll(/\r\n?/g, "\n").replaceAll(CONTROLS, "");
  const { kept, fences, unsure } = findCertain(text);
  const urls = findRanges(text, /https?:\/\/[^\s<>]+/gi);
  const gaps = [
    ...(options.allowClosing ? [] : findClosing(text)),
    ...(options.allowImages ? [] : findForeignImages(text, options.host)),
  ];
  const edits: Edit[] = [
    ...gaps.map(toGap),
    ...(options.allowMentions ? [] : findEnds(text, MENTION)).map((at) =>
      text[at - 1] === "@" && isWithin(urls, at - 1) ? { start: at - 1, end: at, text: "%40" } : toGap(at),
    ),
    ...findRanges(text, UNSAFE_TAG).flatMap(({ start, end }) => {
      // Possible code: it shows a character reference literally.
      if (isWithin(unsure, start)) return toGap(end);
      LINK.lastIndex = start;
      return LINK.test(text) ? [] : { start, end, text: "&lt;" };
    }),
  ].filter(({ start }) => !isWithin(kept, start));
  const commands = findEnds(text, COMMAND).filter((at) => !isWithin(fences, at));
  return applyEdits(text, [...edits, ...commands.map(toGap)]);
}

/** Plain text without effects, also in a chat that the service passes it on to. Addresses stay as they are. */
export function neutralizePlain(text: string): string {
  const kept = findRanges(text, /https?:\/\/\S+/gi);
  const effects = [...findClosing(text), ...[MENTION, GROUP, COMMAND].flatMap((pattern) => findEnds(text, pattern))];
  return applyEdits(text, effects.filter((at) => !isWithin(kept, at)).map(toGap));
}

/** The first brace of a placeholder, also with tags before the second. */
const PLACEHOLDER = /\{(?=(?:<[^<>]*>|\u200B)*[{%])/g;

/** Support desks replace `{{ticket.requester.email}}` and `{% … %}` in a comment by what they know. */
export function breakPlaceholders(text: string): string {
  return text.replaceAll(PLACEHOLDER, `{${GAP}`);
}

const LINK = new RegExp(AUTOLINK, "iy");

/** `<!channel>` notifies everyone in a channel of Slack. */
const GROUP = /<(?=!)/g;

/** Marks that are not shown, and the character references that may be part of a keyword or of what it names. */
const MARKS = /[*_~\\`]|<\/?[a-z]+\s*\/?>|&#(?:\d{1,7}|x[\da-f]{1,6});?|&(?:num|colon|excl|sol|nbsp|tab|newline);/
  .source;
/** Text behind that of a link: its target, its label, or text. */
const TARGET = /\]\([^()\n]*\)|[[\]]/.source;
const LABEL = /\]\[[^[\]\n]*\]/.source;
const MARKUPS = [MARKS, `${TARGET}|${MARKS}`, `${LABEL}|${TARGET}|${MARKS}`].map((source) => new RegExp(source, "gi"));
const REFERENCES: Record<string, string> = { num: "#", colon: ":", excl: "!", sol: "/" };

/** Where a keyword is to be broken, also one whose letters or whose reference have markup between them. */
function findClosing(text: string): number[] {
  return MARKUPS.flatMap((markup) => {
    const { shown, origins } = toShown(text, markup);
    const isInWord = (start: number): boolean =>
      /[a-z]/i.test(shown[start - 1] ?? "") && origins[start] === (origins[start - 1] ?? 0) + 1;
    return findRanges(shown, CLOSING)
      .filter(({ start }) => !isInWord(start))
      .map(({ end }) => origins[end] ?? text.length);
  });
}

/** A text without its markup, and for each character where it was. */
function toShown(text: string, markup: RegExp): { shown: string; origins: number[] } {
  let shown = "";
  const origins: number[] = [];
  const add = (part: string, at: number): void => {
    for (let index = 0; index < part.length; index += 1) origins.push(at + index);
    shown += part;
  };
  let done = 0;
  for (const { index, 0: found } of text.matchAll(markup)) {
    add(text.slice(done, index), done);
    done = index + found.length;
    if (found.startsWith("&")) add(decode(found.slice(1).replace(";", "").toLowerCase()), index);
  }
  add(text.slice(done), done);
  return { shown, origins };
}

function decode(reference: string): string {
  if (!reference.startsWith("#")) return REFERENCES[reference] ?? " ";
  const code = Number(reference.replace("#x", "0x").replace("#", ""));
  return code < 0xd800 ? String.fromCharCode(code) : "\uFFFD";
}

const IMAGE = new RegExp(`!\\[[^[\\]\`\\\\<\\n]*\\]\\((?<url>${ADDRESS})\\)`, "y");

/** The position behind the `!` of each image, unless it is certain that it is one of the own host. */
function findForeignImages(text: string, host: string): number[] {
  return findEnds(text, /!(?=\[)/g).filter((at) => {
    IMAGE.lastIndex = at - 1;
    const url = IMAGE.exec(text)?.groups?.["url"];
    const base = `https://${host}/`;
    return url === undefined || !URL.canParse(url, base) || new URL(url, base).host !== host;
  });
}

/** A part of the text is replaced. */
interface Edit extends Range {
  text: string;
}

function toGap(at: number): Edit {
  return { start: at, end: at, text: GAP };
}

function applyEdits(text: string, edits: Edit[]): string {
  let done = 0;
  let last = "";
  const parts: string[] = [];
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    // One gap is enough.
    if (edit.start < done || (edit.text === GAP && last === GAP && edit.start === done)) continue;
    parts.push(text.slice(done, edit.start), edit.text);
    done = edit.end;
    last = edit.text;
  }
  return parts.join("") + text.slice(done);
}

function findRanges(text: string, pattern: RegExp): Range[] {
  return Array.from(text.matchAll(pattern), ({ index, 0: { length } }) => ({ start: index, end: index + length }));
}

function findEnds(text: string, pattern: RegExp): number[] {
  return findRanges(text, pattern).map(({ end }) => end);
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
