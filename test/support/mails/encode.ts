import iconv from "iconv-lite";

/** Encodes a text with a library that the service does not use for decoding. */
export function encodeText(text: string, charset: string): Buffer {
  return charset === "iso-2022-jp" ? encodeIso2022Jp(text) : iconv.encode(text, charset);
}

/** Encoded words (RFC 2047) of a few characters each, folded. */
export function encodeWords(text: string, charset: string, encoding: "B" | "Q"): string {
  if (charset === "us-ascii") return text;
  const chunks = Array.from(text).reduce<string[]>((words, character, index) => {
    if (index % 10 === 0) words.push("");
    words[words.length - 1] += character;
    return words;
  }, []);
  const words = chunks.map((chunk) => {
    const bytes = encodeText(chunk, charset);
    return `=?${charset}?${encoding}?${encoding === "B" ? bytes.toString("base64") : toQ(bytes)}?=`;
  });
  return words.join("\r\n ");
}

/** The bytes of a body in a Content-Transfer-Encoding. */
export function encodeBody(bytes: Buffer, encoding: string): Buffer {
  if (encoding === "base64") return Buffer.from(bytes.toString("base64").replaceAll(/.{76}/g, "$&\r\n"));
  if (encoding === "quoted-printable") return Buffer.from(toQuotedPrintable(bytes));
  return bytes;
}

function toQ(bytes: Buffer): string {
  return Array.from(bytes, (byte) =>
    isWordCharacter(byte) ? String.fromCharCode(byte) : byte === 0x20 ? "_" : toHex(byte),
  ).join("");
}

/** Adds soft breaks after 72 characters; the line breaks of the text stay. */
function toQuotedPrintable(bytes: Buffer): string {
  return bytes
    .toString("latin1")
    .replaceAll(/[^\r\n -<>-~]/g, (character) => toHex(character.charCodeAt(0)))
    .replaceAll(/(?:=..|[^=\r\n]){1,72}(?=[^\r\n])/g, (line) => (line.length < 72 ? line : `${line}=\r\n`));
}

/** Most of ISO-2022-JP is EUC-JP without the eighth bit, between escapes. */
function encodeIso2022Jp(text: string): Buffer {
  const pieces = text.match(/[ -~\r\n]+|[^ -~\r\n]+/g) ?? [];
  return Buffer.concat(pieces.map((piece) => (/^[ -~\r\n]/.test(piece) ? Buffer.from(piece) : toJis(piece))));
}

function toJis(text: string): Buffer {
  const bytes = iconv.encode(text, "euc-jp").map((byte) => byte & 0x7f);
  return Buffer.concat([Buffer.from("\u001b$B"), bytes, Buffer.from("\u001b(B")]);
}

function isWordCharacter(byte: number): boolean {
  return /[A-Za-z0-9]/.test(String.fromCharCode(byte));
}

function toHex(byte: number): string {
  return `=${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}
