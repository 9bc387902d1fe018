import { MIMEType } from "node:util";
import { HookError } from "../errors.ts";

/** How the body is written down. */
export type BodyKind = "json" | "form" | "text";

const CHARSETS = new Set(["utf-8", "utf8", "us-ascii", "ascii"]);

/** Reads a content type; throws 415 for one that hooks do not take. An absent one counts as JSON. */
export function requireBodyKind(contentType: string): BodyKind {
  // What most senders write, without the cost of parsing it.
  if (contentType === "" || contentType === "application/json") return "json";
  const type = parseType(contentType);
  const kind = type && toKind(type);
  if (!kind) throw unsupported("Send JSON, a form, or text that holds JSON.");
  const charset = type.params.get("charset");
  if (charset !== null && !CHARSETS.has(charset.toLowerCase())) throw unsupported("Send the body in UTF-8.");
  return kind;
}

function parseType(contentType: string): MIMEType | undefined {
  try {
    return new MIMEType(contentType);
  } catch {
    return undefined;
  }
}

function toKind({ type, subtype, essence }: MIMEType): BodyKind | undefined {
  if (essence === "application/json" || subtype.endsWith("+json")) return "json";
  if (essence === "application/x-www-form-urlencoded") return "form";
  return type === "text" ? "text" : undefined;
}

function unsupported(nextStep: string): HookError {
  return new HookError(
    415,
    "unsupported_media_type",
    `Hooks do not take a body of this content type. ${nextStep}`,
  );
}
