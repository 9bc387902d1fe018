import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { connect, type ConnectionOptions } from "node:tls";
import {
  findProvider,
  findProviderByMx,
  type FoundServer,
  isHostName,
  isProvider,
  type MailAddress,
} from "./providers.ts";
import { withTimeout } from "../../shared/async.ts";

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
  { resolver = createResolver(), fetch: get = fetch, probe = probeImap, patienceMs = PATIENCE_MS }: FindOptions = {},
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
  const found = await Promise.all(
    ways.map((way) => withTimeout(way, { timeoutMs: patienceMs, timeoutError }).catch(() => undefined)),
  );
  return found.find((server) => server !== undefined);
}

function timeoutError(): Error {
  return new Error("too late");
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
  return host === undefined ? undefined : { host, port: 993, tls: "implicit", user: address, origin: "its usual name" };
}

/** What is asked of DNS. */
type MailResolver = Pick<Resolver, "resolveSrv" | "resolveMx">;

/** The server that the domain names in DNS (RFC 6186): with TLS from the first byte, else with STARTTLS. */
async function findBySrv(address: MailAddress, resolver: MailResolver): Promise<FoundServer | undefined> {
  const [implicit, starttls] = await Promise.all(
    ["_imaps._tcp", "_imap._tcp"].map((service) => resolveSrv(`${service}.${address.domain}`, resolver)),
  );
  if (implicit) return toFound(implicit, "implicit", address);
  return starttls && toFound(starttls, "starttls", address);
}

/** The server of the provider that takes the domain's mail. */
async function findByMx(address: MailAddress, resolver: MailResolver): Promise<FoundServer | undefined> {
  const records = await resolver.resolveMx(address.domain);
  const [first] = records.toSorted((one, other) => one.priority - other.priority);
  return first && findProviderByMx(first.exchange, address);
}

type Named = Pick<FoundServer, "host" | "port">;

async function resolveSrv(name: string, resolver: MailResolver): Promise<Named | undefined> {
  const records = await resolver.resolveSrv(name).catch(() => []);
  const [first] = records.toSorted((one, other) => one.priority - other.priority || other.weight - one.weight);
  if (!first) return undefined;
  const host = first.name.replace(/\.$/, "").toLowerCase();
  // A dot alone says that there is no such service.
  return isHostName(host) && first.port > 0 ? { host, port: first.port } : undefined;
}

function toFound(named: Named, tls: FoundServer["tls"], { address, domain }: MailAddress): FoundServer {
  const isOwn = named.host === domain || named.host.endsWith(`.${domain}`);
  const isForeign = !isOwn && !isProvider(named.host);
  return { ...named, tls, user: address, origin: "DNS", ...(isForeign && { isForeign }) };
}

const MAX_BYTES = 65_536;
const MAX_REDIRECTS = 3;

/** Takes a URL and gives what stands there, over TLS alone. */
type Fetch = (url: URL, init: { signal: AbortSignal; redirect: "manual" }) => Promise<Response>;

interface FetchOptions {
  fetch: Fetch;
  signal: AbortSignal;
}

/** What the domain itself says, at the two places where clients look. */
async function fetchOwnAutoconfig(address: MailAddress, options: FetchOptions): Promise<FoundServer | undefined> {
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
function fetchListedAutoconfig(address: MailAddress, options: FetchOptions): Promise<FoundServer | undefined> {
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
  for (let redirects = 0; redirects <= MAX_REDIRECTS && url.protocol === "https:"; redirects += 1) {
    const response = await fetch(url, { signal, redirect: "manual" });
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
 * The IMAP server out of a client configuration (Mozilla's autoconfig, config-v1.1.xml): the first one with TLS from the first
 * byte, else with STARTTLS. Reads just the few elements that count, in linear time, and resolves no entities.
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
  const host = fill(textOf(block, "hostname"), address).toLowerCase();
  const port = Number(textOf(block, "port"));
  const tls = TLS[textOf(block, "socketType").toUpperCase()];
  const user = fill(textOf(block, "username"), address) || address.address;
  if (!tls || !isHostName(host) || !isPort(port) || !/^[^\s<>&]{1,320}$/.test(user)) return undefined;
  return { host, port, tls, user, origin };
}

/** The text of an element's first child of that name; empty where it has none. */
function textOf(block: string, name: string): string {
  const end = block.indexOf("</incomingServer>");
  const inner = end === -1 ? block : block.slice(0, end);
  return inner.split(`<${name}>`)[1]?.split("</", 1)[0]?.trim() ?? "";
}

function fill(text: string, { address, local, domain }: MailAddress): string {
  return text
    .replaceAll("%EMAILADDRESS%", () => address)
    .replaceAll("%EMAILLOCALPART%", () => local)
    .replaceAll("%EMAILDOMAIN%", () => domain);
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port > 0 && port <= 65_535;
}

function withoutComments(xml: string): string {
  const [first = "", ...rest] = xml.split("<!--");
  return first + rest.map((part) => part.split("-->").slice(1).join("-->")).join("");
}

/** Whether an IMAP server answers there, over TLS and with a certificate for its name. Never rejects. */
export async function probeImap(
  host: string,
  port: number,
  { signal, ...tls }: { signal: AbortSignal } & Pick<ConnectionOptions, "ca" | "lookup">,
): Promise<boolean> {
  const socket = connect({ host, port, servername: host, ...tls });
  // An error behind the first one would otherwise end the process.
  socket.on("error", () => undefined);
  try {
    const [greeting] = await once(socket, "data", { signal });
    return socket.authorized && /^\* (?:OK|PREAUTH)\b/i.test(String(greeting));
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
