import { Resolver } from "node:dns/promises";
import { fetchListedAutoconfig, fetchOwnAutoconfig, type Fetch } from "./fetch-autoconfig.ts";
import { findByMx, findBySrv, type MailResolver } from "./find-by-dns.ts";
import type { FoundServer } from "./found-server.ts";
import type { MailAddress } from "./mail-address.ts";
import { probeImap } from "./probe-imap.ts";
import { findProvider } from "./providers.ts";

/** How long each way is given. All are tried side by side. */
const PATIENCE_MS = 3000;

export interface FindOptions {
  /** Default: the system's name servers. */
  resolver?: MailResolver;
  fetch?: Fetch;
  /** Whether an IMAP server answers there over TLS. */
  probe?: (host: string, port: number, options: { signal: AbortSignal }) => Promise<boolean>;
  patienceMs?: number;
}

/**
 * Finds the IMAP server of an address: in a table of big providers; else what the domain publishes over HTTPS or DNS, what
 * Thunderbird's list says, whose servers take the domain's mail, and the usual names, in this order. undefined: none was
 * found within a few seconds. Never rejects.
 */
export async function findServer(
  address: MailAddress,
  {
    resolver = createResolver(),
    fetch: get = fetch,
    probe = probeImap,
    patienceMs = PATIENCE_MS,
  }: FindOptions = {},
): Promise<FoundServer | undefined> {
  const known = findProvider(address);
  if (known) return known;
  const ways: ((signal: AbortSignal) => Promise<FoundServer | undefined>)[] = [
    (signal) => fetchOwnAutoconfig(address, { fetch: get, signal }),
    () => findBySrv(address, resolver),
    (signal) => fetchListedAutoconfig(address, { fetch: get, signal }),
    () => findByMx(address, resolver),
    (signal) => guess(address, (host) => probe(host, 993, { signal })),
  ];
  const found = await Promise.all(ways.map((way) => within(patienceMs, way)));
  return found.find((server) => server !== undefined);
}

function createResolver(): Resolver {
  return new Resolver({ timeout: PATIENCE_MS, tries: 1 });
}

async function guess(
  { address, domain }: MailAddress,
  answers: (host: string) => Promise<boolean>,
): Promise<FoundServer | undefined> {
  const hosts = [`imap.${domain}`, `mail.${domain}`];
  const there = await Promise.all(hosts.map(answers));
  const host = hosts.find((_, index) => there[index]);
  return host === undefined
    ? undefined
    : { host, port: 993, tls: "implicit", user: address, origin: "its usual name" };
}

/** What comes too late, or fails, is nothing. */
async function within<T>(
  patienceMs: number,
  way: (signal: AbortSignal) => Promise<T | undefined>,
): Promise<T | undefined> {
  const end = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, patienceMs, undefined);
  });
  try {
    return await Promise.race([way(end.signal), late]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
    end.abort();
  }
}
