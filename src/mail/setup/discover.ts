import { Resolver } from "node:dns/promises";
import { withTimeout } from "../../shared/async.ts";
import {
  findProvider,
  findProviderByMx,
  type FoundServer,
  isHostName,
  isProvider,
  type MailAddress,
} from "./providers.ts";

/** How long each lookup may take. All run in parallel. */
const TIMEOUT_MS = 3000;

export interface FindOptions {
  /** Default: the system's name servers. */
  resolver?: MailResolver;
  fetch?: Fetch;
  timeoutMs?: number;
}

type MailResolver = Pick<Resolver, "resolveSrv" | "resolveMx">;

/** Fetches an https URL. */
type Fetch = (url: URL, init: { signal: AbortSignal; redirect: "manual" }) => Promise<Response>;

type Lookup = (signal: AbortSignal) => Promise<FoundServer | undefined>;

/**
 * Finds the IMAP server of an address: in the table of big providers, else in the domain's autoconfig, its SRV records,
 * Thunderbird's database, or by its MX record, in this order. undefined: none was found in time. Never rejects.
 */
export async function findServer(
  address: MailAddress,
  {
    resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 }),
    fetch: get = fetch,
    timeoutMs = TIMEOUT_MS,
  }: FindOptions = {},
): Promise<FoundServer | undefined> {
  const known = findProvider(address);
  if (known) return known;
  const { domain } = address;
  const query = `?emailaddress=${encodeURIComponent(address.address)}`;
  const autoconfig =
    (url: string, origin: string): Lookup =>
    async (signal) => {
      const response = await fetchSafely(new URL(url), get, signal);
      return response?.ok ? parseAutoconfig(await readStart(response), address, origin) : undefined;
    };
  const lookups: Lookup[] = [
    autoconfig(`https://autoconfig.${domain}/mail/config-v1.1.xml${query}`, OWN_CONFIG),
    autoconfig(`https://${domain}/.well-known/autoconfig/mail/config-v1.1.xml${query}`, OWN_CONFIG),
    () => findBySrv(address, resolver),
    // Thunderbird's database only gets the domain, not the address.
    autoconfig(`https://autoconfig.thunderbird.net/v1.1/${domain}`, "Thunderbird's list of providers"),
    () => findByMx(address, resolver),
  ];
  const timeoutError = (): Error => new Error("timeout");
  const found = await Promise.all(
    lookups.map((lookup) => withTimeout(lookup, { timeoutMs, timeoutError }).catch(() => undefined)),
  );
  return found.find((server) => server !== undefined);
}

const OWN_CONFIG = "the domain's own configuration";

/** The server that the domain names in DNS (RFC 6186), preferably with implicit TLS. */
async function findBySrv(address: MailAddress, resolver: MailResolver): Promise<FoundServer | undefined> {
  const [implicit, starttls] = await Promise.all(
    ["_imaps._tcp", "_imap._tcp"].map((service) => resolveSrv(`${service}.${address.domain}`, resolver)),
  );
  const server = implicit ?? starttls;
  if (!server) return undefined;
  const { host } = server;
  const isOwn = host === address.domain || host.endsWith(`.${address.domain}`);
  const found = { ...server, tls: implicit ? "implicit" : "starttls", user: address.address, origin: "DNS" } as const;
  return isOwn || isProvider(host) ? found : { ...found, isForeign: true };
}

async function resolveSrv(
  name: string,
  resolver: MailResolver,
): Promise<Pick<FoundServer, "host" | "port"> | undefined> {
  const records = await resolver.resolveSrv(name).catch(() => []);
  const [first] = records.toSorted((one, other) => one.priority - other.priority || other.weight - one.weight);
  if (!first) return undefined;
  const host = first.name.replace(/\.$/, "").toLowerCase();
  // A single dot means that there is no such service.
  return isHostName(host) && first.port > 0 ? { host, port: first.port } : undefined;
}

/** The server of the provider that receives the domain's mail. */
async function findByMx(address: MailAddress, resolver: MailResolver): Promise<FoundServer | undefined> {
  const records = await resolver.resolveMx(address.domain);
  const [first] = records.toSorted((one, other) => one.priority - other.priority);
  return first && findProviderByMx(first.exchange, address);
}

const MAX_REDIRECTS = 3;
const MAX_BYTES = 65_536;

/** Follows redirects only over https: a forged answer would get the password. */
async function fetchSafely(first: URL, get: Fetch, signal: AbortSignal): Promise<Response | undefined> {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS && url.protocol === "https:"; redirects += 1) {
    const response = await get(url, { signal, redirect: "manual" });
    const location = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
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
    if (length >= MAX_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_BYTES).toString("utf8");
}

const TLS: Record<string, FoundServer["tls"]> = { SSL: "implicit", STARTTLS: "starttls" };

/**
 * The IMAP server in a client configuration (Mozilla's autoconfig, config-v1.1.xml), preferably with implicit TLS. Reads only
 * the elements it needs, in linear time, and resolves no entities.
 */
export function parseAutoconfig(xml: string, address: MailAddress, origin: string): FoundServer | undefined {
  const servers = withoutComments(xml)
    .split("<incomingServer")
    .slice(1)
    .filter((block) => /^[^>]{0,200}\btype=["']imap["']/.test(block))
    .flatMap((block) => toServer(block, address, origin) ?? []);
  return servers.find(({ tls }) => tls === "implicit") ?? servers[0];
}

function toServer(block: string, address: MailAddress, origin: string): FoundServer | undefined {
  const host = fillIn(textOf(block, "hostname"), address).toLowerCase();
  const port = Number(textOf(block, "port"));
  const tls = TLS[textOf(block, "socketType").toUpperCase()];
  const user = fillIn(textOf(block, "username"), address) || address.address;
  const isPort = Number.isInteger(port) && port > 0 && port <= 65_535;
  if (!tls || !isHostName(host) || !isPort || !/^[^\s<>&]{1,320}$/.test(user)) return undefined;
  return { host, port, tls, user, origin };
}

/** The text of the first child element with this name; empty if there is none. */
function textOf(block: string, name: string): string {
  const [inner = ""] = block.split("</incomingServer>", 1);
  return inner.split(`<${name}>`)[1]?.split("</", 1)[0]?.trim() ?? "";
}

function fillIn(text: string, { address, local, domain }: MailAddress): string {
  return text
    .replaceAll("%EMAILADDRESS%", () => address)
    .replaceAll("%EMAILLOCALPART%", () => local)
    .replaceAll("%EMAILDOMAIN%", () => domain);
}

function withoutComments(xml: string): string {
  const [first = "", ...rest] = xml.split("<!--");
  return first + rest.map((part) => part.split("-->").slice(1).join("-->")).join("");
}
