import type { OptionProblem } from "../../core/ports/driver.ts";
import { appendSegment } from "../../core/shared/json.ts";

/** The request is made with these, or the connection needs them. */
const RESERVED_HEADERS =
  /^(?:host|content-length|connection|keep-alive|transfer-encoding|upgrade|expect|te|trailer|idempotency-key)$/i;

/** A value with a line break would become a further header. */
export function findHeaderProblem(headers: Record<string, string>): OptionProblem[] {
  const reserved = Object.keys(headers).find((name) => RESERVED_HEADERS.test(name));
  if (reserved !== undefined) {
    const message = `The headers must not contain ${reserved}, because each call has its own. Remove it.`;
    return [{ key: "headers", message }];
  }
  const broken = Object.keys(headers).find((name) => !isHeader(name, headers[name] ?? ""));
  const message = "This is not a valid header. Check it for line breaks.";
  return broken === undefined ? [] : [{ key: appendSegment("headers", broken), message }];
}

function isHeader(name: string, value: string): boolean {
  try {
    void new Headers({ [name]: value });
    return !/[\r\n\0]/.test(value);
  } catch {
    return false;
  }
}
