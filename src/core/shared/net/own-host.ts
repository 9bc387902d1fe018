import { isIP } from "node:net";

/**
 * Whether a `Host` header names this service. DNS rebinding: another site's name can lead to this address, and then its page
 * is of one origin with ours. No such name is an address or one of our names.
 */
export function isOwnHost(
  header: string | undefined,
  { host: own, publicUrl }: { host: string; publicUrl: string | undefined },
): boolean {
  const host = toHostName(header);
  return host === "localhost" || isIP(host) !== 0 || host === own || host === toPublicHost(publicUrl);
}

export function toPublicHost(publicUrl: string | undefined): string | undefined {
  return publicUrl === undefined ? undefined : toHostName(new URL(publicUrl).host);
}

/** Without the port: `[::1]:18790` → `::1` */
export function toHostName(host = ""): string {
  return host
    .toLowerCase()
    .replace(/:\d*$/, "")
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
}
