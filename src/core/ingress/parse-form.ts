import type * as Busboy from "@fastify/busboy";
import { HookError } from "../errors.ts";
import { toReadExact } from "../shared/exact-json.ts";
import { isObject, parseObject } from "../shared/json.ts";
import { loadAtFirstUse } from "../shared/system/package.ts";
import type { HookRequest } from "../types.ts";
import { createDecode } from "./body.ts";
import { looksLikeJson, parseJson } from "./parse-json.ts";

type ParsedForm = Pick<HookRequest, "payload" | "readExact">;

/** Parses a form to its fields. Throws a 400, or a 415 for an unknown charset. */
export function parseForm(body: Buffer, charset: string | null): ParsedForm {
  const text = body.toString("latin1");
  // Otherwise invalid percent-encoding would become text.
  if (/%(?![\da-f]{2})/i.test(text)) throw malformed("Its percent-encoding is invalid");
  const decodeBytes = createDecode(charset, "invalid_form");
  const decode = (encoded: string): string =>
    PLAIN.test(encoded) ? encoded : decodeBytes(unescapeBytes(encoded.replaceAll("+", " ")));
  const pairs = text.split("&").filter(Boolean);
  return toPayload(
    pairs.map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return { field: decode(name), text: decode(value.join("=")) };
    }),
  );
}

/** The same in every charset of a form. */
const PLAIN = /^[\w.*~-]*$/;

function unescapeBytes(encoded: string): Buffer {
  const bytes = encoded.replaceAll(/%(..)/g, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1");
}

/** A file of a multipart form. */
interface UploadedFile {
  field: string;
  /** Without folders. */
  name: string;
  /** `image/png` */
  type: string;
  /** In bytes. */
  size: number;
  /** The bytes in base64. */
  content: string;
}

/**
 * Parses multipart/form-data to its fields, and its files as `files`. Rejects with a 400, with a 413 for too many parts, with a
 * 415 for an unknown charset.
 */
export async function parseMultipart(body: Buffer, boundary: string | null): Promise<ParsedForm> {
  const parts = await splitParts(body, requireBoundary(boundary));
  const charsetOf = findCharsets(parts);
  const texts = parts
    .filter(({ file }) => file === undefined)
    .map((part) => ({ field: part.field, text: createDecode(charsetOf(part), "invalid_form")(part.content) }));
  // A browser sends an empty file for a file field that nobody filled in.
  const files = parts.filter(({ file, content }) => file !== undefined && (file !== "" || content.length > 0));
  const { payload, readExact } = toPayload(texts);
  if (files.length === 0) return { payload, readExact };
  const withFiles = (fields: unknown): unknown => (isObject(fields) ? { ...fields, files: files.map(toFile) } : fields);
  return { payload: withFiles(payload), readExact: readExact && (() => withFiles(readExact())) };
}

/** A repeated field becomes an array. Some senders put JSON into a field `payload`, or into `data` alone, as Uptime Kuma does. */
function toPayload(texts: { field: string; text: string }[]): ParsedForm {
  // fromEntries defines own properties, so a field named __proto__ stays a field.
  const fields: Record<string, unknown> = Object.fromEntries(
    Array.from(
      Map.groupBy(texts, ({ field }) => field),
      ([name, values]) => [name, values.length === 1 ? values[0]?.text : values.map(({ text }) => text)],
    ),
  );
  const json = fields["payload"] ?? (texts.length === 1 ? fields["data"] : undefined);
  const isJson = typeof json === "string" && looksLikeJson(json);
  return isJson ? { payload: parseJson(json), readExact: toReadExact(json) } : { payload: fields };
}

interface Part {
  field: string;
  /** The file's name; undefined: a text field. */
  file: string | undefined;
  /** Its Content-Type. */
  type: string;
  content: Buffer;
}

const busboy = loadAtFirstUse<typeof Busboy>("@fastify/busboy");
const MAX_PARTS = 1000;

async function splitParts(body: Buffer, boundary: string): Promise<Part[]> {
  const { Dicer } = busboy();
  return new Promise((resolve, reject) => {
    const parts: { header: PartHeader; chunks: Buffer[] }[] = [];
    let count = 0;
    const dicer = new Dicer({ boundary, maxHeaderPairs: 20 });
    dicer.on("part", (stream) => {
      count += 1;
      // Thrown, because only this ends the parser.
      if (count > MAX_PARTS) {
        throw new HookError("body_too_large", { message: `The form has more than ${MAX_PARTS} parts.` });
      }
      const chunks: Buffer[] = [];
      stream.on("header", (header: PartHeader) => void parts.push({ header, chunks }));
      stream.on("data", (chunk: Buffer) => void chunks.push(chunk));
      stream.on("error", () => {});
    });
    dicer.on("error", () => reject(malformed("It ends before its last boundary")));
    dicer.on("finish", () =>
      resolve(parts.flatMap(({ header, chunks }) => toPart(header, Buffer.concat(chunks)) ?? [])),
    );
    dicer.end(body);
  });
}

/** Names in lower case; the values are bytes as Latin-1. */
type PartHeader = Record<string, string[]>;

/** Browsers write a backslash as it is, so `\"` at the end of a value is no escaped quote. */
const PARAMETER = /;\s*([\w*-]+)\s*=\s*(?:"((?:\\"(?!\s*(?:;|$))|[^"])*)"|([^;\s"]*))/g;

/** undefined: the part has no name. */
function toPart(
  { "content-disposition": [disposition = ""] = [], "content-type": [type = ""] = [] }: PartHeader,
  content: Buffer,
): Part | undefined {
  const parameters = new Map(
    Array.from(disposition.matchAll(PARAMETER), ([, name = "", quoted, plain]) => [
      name.toLowerCase(),
      toName(quoted ?? plain ?? ""),
    ]),
  );
  const field = parameters.get("name");
  if (field === undefined) return undefined;
  const file = parameters.get("filename") ?? decodeExtended(parameters.get("filename*"));
  const isBinary = /^application\/octet-stream\b/i.test(type);
  return { field, file: file ?? (isBinary ? "" : undefined), type, content };
}

/** Browsers write a quote and line ends percent-encoded. */
function toName(written: string): string {
  const text = Buffer.from(written, "latin1").toString("utf8");
  return text.replaceAll('\\"', '"').replaceAll(/%(?:22|0D|0A)/gi, decodeURIComponent);
}

/** `UTF-8''na%C3%AFve.txt` (RFC 8187) */
function decodeExtended(value: string | undefined): string | undefined {
  const encoded = value?.replace(/^[^']*'[^']*'/, "");
  try {
    return encoded && decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

function toFile({ field, file = "", type, content }: Part): UploadedFile {
  return {
    field,
    name: file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1),
    type: type.split(";", 1)[0]?.trim().toLowerCase() || "application/octet-stream",
    size: content.length,
    content: content.toString("base64"),
  };
}

/** A part's own charset; else what a field says of it: `charsets` is SendGrid's, by name; `_charset_` is that of HTML, for all. */
function findCharsets(parts: Part[]): (part: Part) => string | undefined {
  const textOf = (name: string): string | undefined => parts.find(({ field }) => field === name)?.content.toString();
  const byField = parseObject(textOf("charsets") ?? "");
  const common = textOf("_charset_");
  return ({ field, type }) => {
    const named = Object.hasOwn(byField, field) ? byField[field] : undefined;
    return /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(type)?.[1] ?? (typeof named === "string" ? named : common);
  };
}

/** RFC 2046, 5.1.1. The cost of finding a boundary grows with its length. */
const BOUNDARY = /^[\w'()+,\-./:=? ]{1,70}$/;

function requireBoundary(boundary: string | null): string {
  if (boundary !== null && BOUNDARY.test(boundary)) return boundary;
  throw malformed("Its content type has no valid boundary");
}

function malformed(reason: string): HookError {
  return new HookError("invalid_form", { message: `The form is malformed. ${reason}.` });
}
