import { markdownToHTML, type Options } from "comrak";
import { marked } from "marked";
import { type DefaultTreeAdapterTypes, parseFragment } from "parse5";
import * as fc from "./property.ts";

const HOST = "forge.test";

const GFM = { autolink: true, footnotes: true, strikethrough: true, table: true, tasklist: true };

const withComrak =
  (extension: Options["extension"]) =>
  (text: string): string =>
    markdownToHTML(text, { extension: { ...GFM, ...extension }, render: { unsafe: true } });

/** Markdown parsers as HTML. Comrak is GitLab's own, and a port of GitHub's. Sentry uses marked. */
export const PARSERS: Record<string, (text: string) => string> = {
  GitHub: withComrak({}),
  GitLab: withComrak({
    alerts: true,
    descriptionLists: true,
    frontMatterDelimiter: "---",
    mathCode: true,
    mathDollars: true,
    multilineBlockQuotes: true,
  }),
  marked: (text) => marked.parse(text, { async: false, gfm: true }),
};

/** The effects of a comment besides being read, as GitHub and GitLab read them from a parser's HTML. */
export function findEffects(html: string): string[] {
  const effects: string[] = [];
  /** The text of one block. Code and links to other places are no part of a reference. */
  let block = "";
  const endBlock = (): void => {
    if (CLOSING.test(block)) effects.push(`closes: ${block}`);
    block = "";
  };
  const visit = (node: DefaultTreeAdapterTypes.ChildNode, isText: boolean): void => {
    if (node.nodeName === "#comment") effects.push("hides a comment");
    if ("value" in node) {
      if (isText && MENTION.test(node.value)) effects.push(`mentions: ${node.value}`);
      // No keyword is in an address.
      block += isText ? node.value : node.value.replace(/^https?:.*/s, (url) => url.replaceAll(STEM, "_"));
    }
    if (!("tagName" in node)) return;
    const { tagName } = node;
    if (!KNOWN_TAGS.has(tagName)) effects.push(`has <${tagName}>`);
    const source = node.attrs.find(({ name }) => name === "src")?.value;
    if (tagName === "img" && new URL(source ?? "", `https://${HOST}`).host !== HOST) effects.push(`loads ${source}`);
    if (BLOCKS.has(tagName)) endBlock();
    if (["code", "img", "pre"].includes(tagName)) block += "\uFFFC";
    else for (const child of node.childNodes) visit(child, isText && tagName !== "a");
    if (BLOCKS.has(tagName)) endBlock();
  };
  for (const node of parseFragment(html).childNodes) visit(node, true);
  endBlock();
  return effects;
}

const MENTION = /(?:^|[^A-Za-z0-9])@[A-Za-z0-9{]/;
const CLOSING =
  /(?<!\w)(?:clos(?:e[ds]?|ing)|fix(?:e[ds]|ing)?|resolv(?:e[ds]?|ing)|implement(?:s|ed|ing)?|reopen(?:s|ed)?):?\s+(?:issues?\s+)?(?:[\w.-]+(?:\/[\w.-]+)?)?(?:#\d|gh-\d|https?:\/\/\S+\/issues\/\d)/i;
const STEM = /clos|fix|implement|reopen|resolv/gi;
const BLOCKS = new Set(["blockquote", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li"]);
for (const tag of [
  "ol",
  "p",
  "pre",
  "section",
  "table",
  "tbody",
  "td",
  "th",
  "thead",
  "tr",
  "ul",
  "details",
  "summary",
])
  BLOCKS.add(tag);
const KNOWN_TAGS = new Set([...BLOCKS, "a", "b", "br", "code", "del", "em", "i", "img", "input", "ins", "kbd", "s"]);
for (const tag of ["span", "strong", "sub", "sup"]) KNOWN_TAGS.add(tag);

/**
 * GitLab's expression for quick actions, with any name: lib/gitlab/quick_actions/extractor.rb. `.` and `$` mean in Ruby what
 * they mean here with the flags s and m.
 */
const QUICK_ACTION =
  /^```.+?\n```$|^.*`\n*.+?\n*`$|^<[^>]+?>\n.+?\n<\/[^>]+?>$|^>>>.+?\n>>>$|^\/(?<cmd>[a-z_]+)(?: (?<arg>[^\n]*))?(?:\s*\n|$)/gims;
/** An earlier form: code began with its line. */
const OLD_QUICK_ACTION = new RegExp(QUICK_ACTION.source.replace("^.*`", "^`"), QUICK_ACTION.flags);

export function findQuickActions(text: string): string[] {
  return [QUICK_ACTION, OLD_QUICK_ACTION].flatMap((expression) =>
    Array.from(text.replaceAll("\r", "").matchAll(expression), ({ groups }) => groups?.["cmd"] ?? []).flat(),
  );
}

/** Pieces of Markdown that open, close or break what is around them, and of what must have no effect. */
const PIECES = [
  ..."\n,\n\n,\n\n, , ,    ,\t,`,`,``,```,```,````,~~~,~~~,```\n,\n```\n,\n~~~\n,```js\n,``` \n,> ,>,>>>,>>>\n,- ,* ,1. ,  - ,: ,# ,---,---\n,===\n".split(
    ",",
  ),
  ..."|a | ;| - | - |\n;|-|\n;a | b\n- | -\n;|;\\|;[;];];(;);](;[^1];[^1]: ;[^`]: ;[a]: ;[a]: x ';![;![;!;\\;\\\\;\\`;*;**;_;~~;$;$$;$`;`$;{+;+}".split(
    ";",
  ),
  ...'<b>|</b>|<b>\n|<details>\n|</details>\n|<pre>\n|</pre>|<p>|<code>|</code>|<br>|<a href="`">|<!--|-->|<?|<div>|</div>|<img src=https://evil.test>|<https://x.test/`>|<https://x.test/@ada>|<script>|<x@y.z>|<'.split(
    "|",
  ),
  ..."@ada @ada @acme/team &#64;ada &#64ada &#x40;ada \\@ada a@b.c x@ada /@ada".split(" "),
  ..."fixes #1,closes: acme/app#2,fi,xes ,#1,&#35;1,&#102;ixes #1,**fix**es #1,[fixes](u) #1,[closes][a] #1,fixes https://forge.test/a/issues/1".split(
    ",",
  ),
  ..."\n/close\n,/close,/merge x\n,\r/close\n, /close\n".split(","),
  ..."![x](https://evil.test/a) ![x](//evil.test) ![x](https&#58;//evil.test) ![x](https&colon;//evil.test) ![x](https\\://evil.test) ![x](/&#47;evil.test) ![x](/\\evil.test) ![x](/own.png) ![a] ![a][a]".split(
    " ",
  ),
  ..."https://x.test/@ada,https://x_y/@ada,(https://x.test/@ada),[a](https://x.test/@ada),[a](https://x.test/@ada 'b'),*https://x.test/@ada*,text,a,é,\u200B,\u00A0,\u2028".split(
    ",",
  ),
  "[a]: https://evil.test\n",
  "\n[a]: https://evil.test\n",
  "coding: x\n---\n",
];

export const hostileMarkdown: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 24 })
  .map((pieces) => pieces.join(""));

export const NEUTRAL = { host: HOST };
