import { decodeWords, joinWords, type Mailbox, parseMailboxes } from "./mime.ts";

/** A part of an address field. A comment may contain comments, and an encoded word any separator. */
interface Token {
  kind: "text" | "quoted" | "comment" | "address" | "separator";
  /** Without quotes, parentheses and angle brackets. */
  value: string;
  /** The written text. */
  source: string;
}

const TOKEN = /<([^<>]*)>|=\?[^?\s]{1,60}\?[bq]\?[^?]*\?=|[,;:]|[^",;:<(=]+|[^]/iy;

function tokenize(field: string): Token[] {
  const tokens: Token[] = [];
  /** One without end is searched once: the rest of the field has only text of its kind. */
  const endless = new Set<string>();
  for (let at = 0; at < field.length;) {
    const mark = field.charAt(at);
    const kind = mark === "(" ? "comment" : mark === '"' ? "quoted" : undefined;
    const end = kind && !endless.has(kind) ? findEnd(field, at) : -1;
    if (kind && end > 0) {
      const source = field.slice(at, end);
      tokens.push({ kind, value: source.slice(1, -1).replaceAll(/\\(.)/g, "$1"), source });
      at = end;
      continue;
    }
    if (kind) endless.add(kind);
    TOKEN.lastIndex = at;
    const [source = mark, address] = TOKEN.exec(field) ?? [];
    at += source.length;
    if (address === undefined)
      tokens.push({ kind: /^[,;:]$/.test(source) ? "separator" : "text", value: source, source });
    else tokens.push({ kind: "address", value: address.trim(), source });
  }
  return tokens;
}

/** The offset behind a quoted text or a comment; -1 if it has no end. */
function findEnd(field: string, from: number): number {
  const isComment = field[from] === "(";
  let depth = 1;
  for (let at = from + 1; at < field.length; at += 1) {
    const mark = field[at];
    if (mark === "\\") at += 1;
    else if (isComment && mark === "(") depth += 1;
    else if (mark === (isComment ? ")" : '"')) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return -1;
}

/**
 * The mailboxes of an address field, including the members of groups, with decoded names. In `Doe, Jane <jane@example.com>` the
 * separator belongs to the name: what is before it is no address.
 */
export function parseAddresses(header: string): Mailbox[] {
  const mailboxes: Mailbox[] = [];
  /** The pieces since the last address, each with the separator behind it. */
  let names: Token[] = [];
  let piece: Token[] = [];
  const tokens = tokenize(joinWords(header));
  const lastSemicolon = tokens.findLastIndex(({ source }) => source === ";");
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== "separator") piece.push(token);
    // A group without end is a name.
    else if (token.source !== ":") endPiece(token);
    else if (index < lastSemicolon) [names, piece] = [[], []];
    else piece.push({ ...token, kind: "text" });
  }
  endPiece(undefined);
  return mailboxes;

  function endPiece(separator: Token | undefined): void {
    const hasAngle = piece.some(({ kind }) => kind === "address");
    if (hasAngle) mailboxes.push(toMailbox([...names, ...piece]));
    else if (piece.some(({ kind, value }) => kind !== "comment" && value.includes("@"))) {
      mailboxes.push(...parsePieces(names), ...parsePieces(piece));
    } else {
      names.push(...piece, ...(separator && piece.length > 0 ? [{ ...separator, value: `${separator.value} ` }] : []));
      piece = [];
      if (separator) return;
      mailboxes.push(...parsePieces(names));
    }
    [names, piece] = [[], []];
  }
}

/** One mailbox with an address in angle brackets. */
function toMailbox(tokens: Token[]): Mailbox {
  const named = tokens.filter(({ kind, value }) => kind !== "comment" && value !== "");
  const address = named.find(({ kind }) => kind === "address");
  const name = nameOf(named.filter((token) => token !== address)) || commentOf(tokens);
  return { address: address?.value ?? "", name: name === address?.value ? "" : name };
}

/** Pieces without angle brackets: an address, or a name alone. */
function parsePieces(tokens: Token[]): Mailbox[] {
  return parseMailboxes(sourceOf(tokens)).map((mailbox) => ({ ...mailbox, name: mailbox.name || commentOf(tokens) }));
}

function sourceOf(tokens: Token[]): string {
  return tokens.map(({ kind, source }) => (kind === "comment" ? " " : source)).join("");
}

function nameOf(tokens: Token[]): string {
  const text = tokens.map(({ value }) => value).join("");
  return decodeWords(text).replaceAll(/\s+/g, " ").trim();
}

function commentOf(tokens: Token[]): string {
  return nameOf(tokens.filter(({ kind }) => kind === "comment"));
}

/** A local part without quotes, since programs disagree about those, and a domain. */
const ADDRESS = /^[^\s@<>()[\]:;,"\\]+@[\p{L}\p{M}\p{N}.-]+$/u;
const MAX_FIELD_CHARACTERS = 2000;

/**
 * The address in the From or Reply-To fields of a mail, in lower case. Empty unless there is exactly one: another program, such as
 * the server that checks DMARC, could read an ambiguous field differently.
 */
export function toSender(fields: string[]): string {
  const [field = ""] = fields;
  if (fields.length !== 1 || field.length > MAX_FIELD_CHARACTERS) return "";
  // Quoted names and comments may contain anything.
  const plain = tokenize(field).map(({ kind, source }) => (kind === "quoted" || kind === "comment" ? " " : source));
  const [phrase = "", bracketed, ...rest] = plain.join("").split(/[<>]/);
  if (bracketed === undefined) return toAddress(phrase);
  const hasOther = rest.join("").trim() !== "" || (phrase.includes("@") && /[,;:]/.test(phrase));
  return rest.length !== 1 || hasOther ? "" : toAddress(bracketed);
}

/** The first addresses in the values of address fields, in lower case, each once. */
export function toAddresses(fields: string[], max: number): string[] {
  const found = fields.flatMap((field) => parseAddresses(field).map(({ address }) => toAddress(address)));
  return [...new Set(found.filter((address) => address !== ""))].slice(0, max);
}

function toAddress(text: string): string {
  const address = text.trim().toLowerCase();
  return ADDRESS.test(address) ? address : "";
}

/** Whether mail to both addresses arrives in one mailbox: a `+tag` is ignored, and of Gmail's own also dots and the domain's name. */
export function isSameMailbox(one: string, other: string): boolean {
  return normalize(one) === normalize(other);
}

function normalize(address: string): string {
  const [, local = "", domain = ""] = /^([^@+]*)(?:\+[^@]*)?@(.*)$/s.exec(address.toLowerCase()) ?? ["", address];
  const isGoogle = domain === "gmail.com" || domain === "googlemail.com";
  return isGoogle ? `${local.replaceAll(".", "")}@gmail.com` : `${local}@${domain}`;
}
