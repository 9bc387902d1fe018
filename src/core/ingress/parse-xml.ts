import { XMLParser } from "fast-xml-parser";
import { HookError } from "../errors.ts";
import { createDecode } from "./body.ts";
import { MAX_DEPTH } from "../shared/json.ts";

const parser = new XMLParser({
  ignoreAttributes: false,
  // Names that templates can write: {{order.$id}}.
  attributeNamePrefix: "$",
  textNodeName: "$",
  // `007` and numbers beyond 2^53 stay as they were sent.
  parseTagValue: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  maxNestedTags: MAX_DEPTH,
  // Otherwise the path is written out for each tag, which makes nesting quadratic.
  jPath: false,
  entityDecoder: {
    // Called for each document type: its entities could expand without end, or name files to be read.
    addInputEntities() {
      throw new Error("document type");
    },
    decode: decodeEntities,
    setExternalEntities() {},
    setXmlVersion() {},
    reset() {},
  },
});

/**
 * Parses XML to an object: `<a id="1"><b>x</b></a>` → `{ a: { $id: "1", b: "x" } }`. Values are text, repeated tags an
 * array, text beside attributes or tags is `$`. `charset`: from the content type. Throws a 400, or a 415 for an
 * unknown charset.
 */
export function parseXml(body: Buffer, charset: string | null): unknown {
  const decode = createDecode(markedCharset(body) ?? charset ?? declaredCharset(body), "invalid_xml");
  const text = decode(body);
  try {
    return parser.parse(text, true);
  } catch {
    // The parser's message quotes the body, so it is not even kept as the cause.
    throw new HookError("invalid_xml", text.includes("<!DOCTYPE") ? { message: WITHOUT_DOCTYPE } : {});
  }
}

const WITHOUT_DOCTYPE = "The body is not valid XML without its document type (DOCTYPE): send it without one.";

/** By the byte order mark of UTF-16. */
function markedCharset(body: Buffer): string | undefined {
  if (body[0] === 0xff && body[1] === 0xfe) return "utf-16le";
  return body[0] === 0xfe && body[1] === 0xff ? "utf-16be" : undefined;
}

/** `<?xml version="1.0" encoding="koi8-r"?>` */
function declaredCharset(body: Buffer): string | undefined {
  return /^(?:\xef\xbb\xbf)?<\?xml\s[^>]{0,100}?encoding\s*=\s*["']([\w.:-]+)/.exec(
    body.toString("latin1", 0, 200),
  )?.[1];
}

const ENTITY = /&(?:#x([\da-f]{1,6})|#(\d{1,7})|(lt|gt|amp|quot|apos));/gi;
const NAMED: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/** Only those that need no definition; others stay as they are. */
function decodeEntities(text: string): string {
  return text.replaceAll(ENTITY, (entity, hex?: string, decimal?: string, name = "") => {
    const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return NAMED[name] ?? (point <= 0x10ffff ? String.fromCodePoint(point) : entity);
  });
}
