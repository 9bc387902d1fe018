import type { IncomingHttpHeaders } from "node:http";
import { TOKEN_HEADER } from "./credential.ts";

/** Secrets of the caller: nothing behind the ingress sees them. */
const WITHHELD = new Set(["authorization", "proxy-authorization", "cookie", TOKEN_HEADER]);

/** Copies the headers that templates, transforms and the journal may see; repeated ones are joined by `, `. */
export function toVisibleHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const visible: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || WITHHELD.has(name)) continue;
    visible[name] = typeof value === "string" ? value : value.join(", ");
  }
  return visible;
}
