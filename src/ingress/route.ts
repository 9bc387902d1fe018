/** A path under `hooks.path`. */
export interface Route {
  /** As it came, percent-encoded, without the query. */
  path: string;
  /** What stands behind the `?`; empty without one. */
  search: string;
  /** The decoded name, or undefined where the path cannot be the name of a hook. */
  hook: string | undefined;
}

/** An empty, `.` or `..` segment: what a proxy in front may have read as another path. */
const ODD_SEGMENT = /(?:^|\/)\.{0,2}(?:\/|$)/;

/** Splits a request target; undefined when it is not under `prefix` (`/hooks`). */
export function matchRoute(target: string, prefix: string): Route | undefined {
  const url = toOriginForm(target);
  const mark = url.indexOf("?");
  const path = mark === -1 ? url : url.slice(0, mark);
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  if (rest !== "" && rest[0] !== "/") return undefined;
  return { path, search: mark === -1 ? "" : url.slice(mark + 1), hook: toHookName(rest) };
}

/** RFC 9112, 3.2.2: a server must also accept `POST http://host/path HTTP/1.1`. */
function toOriginForm(target: string): string {
  if (target[0] === "/") return target;
  const authority = target.indexOf("://");
  const path = authority === -1 ? -1 : target.indexOf("/", authority + 3);
  return path === -1 ? target : target.slice(path);
}

function toHookName(rest: string): string | undefined {
  const encoded = rest.slice(1, rest.endsWith("/") ? -1 : undefined);
  const name = encoded.includes("%") ? decodeOnce(encoded) : encoded;
  return name === undefined || ODD_SEGMENT.test(name) ? undefined : name;
}

function decodeOnce(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
