import { listTokens, type MarkedToken, parseMarkdown } from "../shared/text/markdown.ts";

export interface ClosedLinks {
  text: string;
  /** The hosts whose addresses were cut. */
  hosts: string[];
}

/**
 * A Markdown text in which no address can carry more away than its path: queries, fragments and user names of addresses are
 * cut, unless `isOpen` says that their host may see them. It covers links, images, definitions, autolinks, HTML, and
 * addresses in plain text, which some services make links of.
 */
export async function closeLinks(markdown: string, isOpen: (host: string) => boolean): Promise<ClosedLinks> {
  const hosts = new Set<string>();
  const cut: Cut = (address) => cutAddress(address, { isOpen, hosts });
  const text = LINK_RULES.closePlain(await LINK_RULES.closeMarkup(markdown, cut), cut);
  if (!(await LINK_RULES.hasOpenLink(text, cut))) return { text, hosts: [...hosts] };
  // A form that this file cannot write in another way: nothing is a link in a block of code.
  const fence = "`".repeat(1 + Math.max(2, ...Array.from(text.matchAll(/`+/g), ([marks]) => marks.length)));
  return { text: `${fence}text\n${text}\n${fence}`, hosts: [...hosts] };
}

/** The tests of injections replace them one by one. */
export const LINK_RULES = { closeMarkup, closePlain, hasOpenLink, withoutLoad, decode };

/** The address without what it could carry; undefined: it can stay as it is. */
type Cut = (address: string) => string | undefined;

/** Links in links, and so on. */
const MAX_ROUNDS = 4;

/** Writes links, images and definitions of the text again, without what is cut. */
async function closeMarkup(markdown: string, cut: Cut): Promise<string> {
  let text = markdown;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const tokens = await findTokens(text);
    const changes = new Map((tokens ?? []).flatMap((token) => toChange(token, cut)));
    if (changes.size === 0) return text;
    for (const [raw, changed] of changes) text = text.replaceAll(raw, () => changed);
  }
  return text;
}

/** Undefined if the text cannot be parsed: then a service shows it as plain text. */
async function findTokens(text: string): Promise<MarkedToken[] | undefined> {
  try {
    return await listTokens(await parseMarkdown(text));
  } catch {
    return undefined;
  }
}

function toChange(token: MarkedToken, cut: Cut): [raw: string, changed: string][] {
  if (token.type !== "link" && token.type !== "image" && token.type !== "def") return [];
  const { raw, href } = token;
  // A link by reference: the address in its definition is cut.
  if (raw.endsWith("]")) return [];
  const address = cut(href);
  if (address === undefined) return [];
  const target = address.replaceAll(/[\s()<>[\]]/g, (char) => encodeURIComponent(char).replace(/^[()]$/, toPercent));
  if (token.type === "def") return [[raw, `${raw.slice(0, raw.indexOf("]:") + 2)} ${target}\n`]];
  if (token.type === "image") return [[raw, `![${token.text}](${target})`]];
  return [[raw, raw.startsWith("[") ? `[${token.text}](${target})` : target]];
}

function toPercent(char: string): string {
  return `%${char.charCodeAt(0).toString(16)}`;
}

async function hasOpenLink(text: string, cut: Cut): Promise<boolean> {
  const tokens = await findTokens(text);
  return (tokens ?? []).some((token) => {
    if (token.type === "html") return closePlain(decode(token.raw), cut) !== decode(token.raw);
    return "href" in token && typeof token.href === "string" && cut(token.href) !== undefined;
  });
}

/** An address with a scheme, or a name that services take for one; each with all that could belong to it. */
const PLAIN_ADDRESS =
  /(?:[a-z][a-z\d+.-]{0,30}:[\\/]{2}|mailto:|(?<![\p{L}\p{N}_.@/-])(?:(?:[\p{L}\p{N}_-]+\.)+\p{L}{2,24}|\d{1,3}(?:\.\d{1,3}){3})(?=(?::\d{1,5})?[/?\\]))[^\s<>"'`]*/giu;

/** Characters behind an address that are no part of it. */
const CLOSERS = /[)\]}*_~|.,;:!?]*$/;

/** Cuts addresses wherever they are, also in code and HTML, and with all that follows up to a white space. */
function closePlain(text: string, cut: Cut): string {
  return text.replaceAll(PLAIN_ADDRESS, (found) => {
    const closers = CLOSERS.exec(found)?.[0] ?? "";
    const address = cut(found.slice(0, found.length - closers.length));
    return address === undefined ? found : address + closers;
  });
}

function cutAddress(
  written: string,
  { isOpen, hosts }: { isOpen: (host: string) => boolean; hosts: Set<string> },
): string | undefined {
  const address = LINK_RULES.decode(written).replaceAll(/[\p{Cc}\s]/gu, "");
  const isNamed = /^[\p{L}\p{N}]/u.test(address) && !/^[a-z][a-z\d+.-]*:(?!\d)/i.test(address);
  const isHere = /^(?![\\/]{2})[\\/?#.]/.test(address);
  if (isHere || address === "") return undefined;
  const complete = isNamed ? `http://${address}` : address.replace(/^[\\/]{2}/, "http://");
  const url = URL.canParse(complete) ? new URL(complete) : undefined;
  const host = url?.host.replace(/\.$/, "");
  if (host && !address.includes("\\") && !url?.username && isOpen(host)) return undefined;
  const kept = LINK_RULES.withoutLoad(address);
  if (kept === address) return undefined;
  hosts.add(host?.slice(0, 100) || "an address");
  return kept;
}

/** Without the user name, the query and the fragment. */
function withoutLoad(address: string): string {
  return address.replace(/[?#].*$/s, "").replace(/^([a-z][a-z\d+.-]*:[\\/]{2}|[\\/]{2})[^\\/]*@/i, "$1");
}

const REFERENCES: Record<string, string> = {
  amp: "&",
  bsol: "\\",
  colon: ":",
  commat: "@",
  num: "#",
  period: ".",
  quest: "?",
  sol: "/",
  tab: "\t",
  newline: "\n",
};

/** The character references and escapes that a service resolves in an address. Others of them cannot end a path. */
function decode(text: string): string {
  return text
    .replaceAll(
      /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{3,7}));?/gi,
      (found, decimal?: string, hex?: string, name = "") => {
        const code = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : undefined;
        if (code !== undefined) return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "\uFFFD";
        return REFERENCES[String(name).toLowerCase()] ?? found;
      },
    )
    .replaceAll(/\\(?=[?#&:/.])/g, "");
}
