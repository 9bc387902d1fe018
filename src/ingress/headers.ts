import type { IncomingHttpHeaders } from "node:http";
import { SECRET_HEADERS } from "../config/secret.ts";

/** Copies the headers that templates, transforms and the journal may see; repeated ones are joined by `, `. */
export function toVisibleHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const visible: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || SECRET_HEADERS.has(name)) continue;
    visible[name] = typeof value === "string" ? value : value.join(", ");
  }
  return visible;
}
