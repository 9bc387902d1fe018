/** An empty, `.` or `..` segment: a proxy in front may have read it as another path. */
const ODD_SEGMENT = /(?:^|\/)\.{0,2}(?:\/|$)/;

/** A path under the hooks prefix. */
export interface HookRoute {
  /** The decoded name; undefined when the path cannot be the name of a hook. */
  hook: string | undefined;
}

/** Finds the hook that a path names; undefined when the path is not under `prefix` (`/hooks`). */
export function matchHook(path: string, prefix: string): HookRoute | undefined {
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  if (rest !== "" && rest[0] !== "/") return undefined;
  const encoded = rest.slice(1, rest.endsWith("/") ? -1 : undefined);
  const hook = decodePath(encoded);
  return { hook: hook === undefined || ODD_SEGMENT.test(hook) ? undefined : hook };
}

/** Decodes percent-encoding once; undefined when it is invalid. */
export function decodePath(encoded: string): string | undefined {
  if (!encoded.includes("%")) return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
