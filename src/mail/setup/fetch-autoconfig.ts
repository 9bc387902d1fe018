import type { FoundServer } from "./found-server.ts";
import type { MailAddress } from "./mail-address.ts";
import { parseAutoconfig } from "./parse-autoconfig.ts";

const MOST_BYTES = 65_536;
const MOST_REDIRECTS = 3;

/** Takes a URL and gives what stands there, over TLS alone. */
export type Fetch = (url: URL, init: { signal: AbortSignal; redirect: "manual" }) => Promise<Response>;

interface FetchOptions {
  fetch: Fetch;
  signal: AbortSignal;
}

/** What the domain itself says, at the two places where clients look. */
export async function fetchOwnAutoconfig(
  address: MailAddress,
  options: FetchOptions,
): Promise<FoundServer | undefined> {
  const query = `?emailaddress=${encodeURIComponent(address.address)}`;
  const urls = [
    `https://autoconfig.${address.domain}/mail/config-v1.1.xml${query}`,
    `https://${address.domain}/.well-known/autoconfig/mail/config-v1.1.xml${query}`,
  ];
  const found = await Promise.all(
    urls.map((url) =>
      read(url, address, { ...options, origin: "the domain's own configuration" }).catch(() => undefined),
    ),
  );
  return found.find((server) => server !== undefined);
}

/** What Thunderbird's database of providers says. It is told the domain, not the address. */
export function fetchListedAutoconfig(
  address: MailAddress,
  options: FetchOptions,
): Promise<FoundServer | undefined> {
  const url = `https://autoconfig.thunderbird.net/v1.1/${address.domain}`;
  return read(url, address, { ...options, origin: "Thunderbird's list of providers" });
}

async function read(
  url: string,
  address: MailAddress,
  { fetch, signal, origin }: FetchOptions & { origin: string },
): Promise<FoundServer | undefined> {
  const response = await follow(new URL(url), { fetch, signal });
  return response?.ok ? parseAutoconfig(await readStart(response), address, origin) : undefined;
}

/** A redirect may not lead away from TLS. */
async function follow(first: URL, { fetch, signal }: FetchOptions): Promise<Response | undefined> {
  let url = first;
  for (let redirects = 0; redirects <= MOST_REDIRECTS && url.protocol === "https:"; redirects += 1) {
    const response = await fetch(url, { signal, redirect: "manual" });
    const location =
      response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (location === null) return response;
    await response.body?.cancel();
    url = new URL(location, url);
  }
  return undefined;
}

async function readStart({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= MOST_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MOST_BYTES).toString("utf8");
}
