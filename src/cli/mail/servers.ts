import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { domainToASCII } from "node:url";

/** A mail server with TLS that was found for an address. Its values come from outside. */
export interface FoundServer {
  host: string;
  port: number;
  tls: "implicit" | "starttls";
  /** The login name for the address. */
  user: string;
  /** Where it was found, for a person: `DNS`. */
  origin: string;
  /** A condition of the login that a person must know. */
  hint?: string;
  /** Named only by DNS, which can be forged, and outside the address's domain: a person must confirm it (RFC 6186, 6). */
  isForeign?: true;
  /** Whether Gmail's own API can read the mailbox too. */
  gmail?: true;
}

interface Provider {
  domains: string[];
  /** The domains of its MX servers: they show that it hosts another domain's mail. */
  mx?: string[];
  host: string;
  /** The login name is the part of the address before the @. */
  localUser?: true;
  hint?: string;
  gmail?: true;
}

const APP_PASSWORD = "It needs an app password, created in the account's security settings, not the account's own.";
const ENABLE_IMAP = "IMAP must be enabled in the account's settings.";

/** Big providers, since a table is more reliable than a lookup and knows what to do before the login. */
const PROVIDERS: Provider[] = [
  {
    domains: ["gmail.com", "googlemail.com"],
    mx: ["google.com", "googlemail.com"],
    host: "imap.gmail.com",
    hint: `${APP_PASSWORD} Or use Gmail's own API.`,
    gmail: true,
  },
  {
    domains: ["outlook.com", "hotmail.com", "live.com", "msn.com"],
    mx: ["mail.protection.outlook.com", "olc.protection.outlook.com"],
    host: "outlook.office365.com",
    hint: "It no longer accepts passwords: log in with OAuth 2.",
  },
  {
    domains: ["yahoo.com", "yahoo.de", "yahoo.co.uk", "yahoo.fr", "ymail.com"],
    mx: ["yahoodns.net"],
    host: "imap.mail.yahoo.com",
    hint: APP_PASSWORD,
  },
  { domains: ["aol.com"], host: "imap.aol.com", hint: APP_PASSWORD },
  {
    domains: ["icloud.com", "me.com", "mac.com"],
    mx: ["mail.icloud.com"],
    host: "imap.mail.me.com",
    localUser: true,
    hint: APP_PASSWORD,
  },
  {
    domains: ["fastmail.com", "fastmail.fm"],
    mx: ["messagingengine.com"],
    host: "imap.fastmail.com",
    hint: APP_PASSWORD,
  },
  { domains: ["gmx.net", "gmx.de", "gmx.at", "gmx.ch"], mx: ["gmx.net"], host: "imap.gmx.net", hint: ENABLE_IMAP },
  { domains: ["gmx.com"], host: "imap.gmx.com", hint: ENABLE_IMAP },
  { domains: ["web.de"], host: "imap.web.de", hint: ENABLE_IMAP },
  {
    domains: ["t-online.de"],
    host: "secureimap.t-online.de",
    hint: "It needs the separate mail password, not the account's own.",
  },
  { domains: [], mx: ["kundenserver.de"], host: "imap.ionos.de" },
  { domains: ["mailbox.org"], mx: ["mailbox.org"], host: "imap.mailbox.org" },
  { domains: ["posteo.de", "posteo.net", "posteo.org"], host: "posteo.de" },
  { domains: ["zoho.com", "zohomail.com"], mx: ["zoho.com"], host: "imap.zoho.com", hint: APP_PASSWORD },
  { domains: ["zohomail.eu"], mx: ["zoho.eu"], host: "imap.zoho.eu", hint: APP_PASSWORD },
  {
    domains: ["yandex.com", "yandex.ru"],
    mx: ["yandex.net", "yandex.ru"],
    host: "imap.yandex.com",
    hint: APP_PASSWORD,
  },
];

const PROTON = ["proton.me", "protonmail.com", "pm.me"];

/** The server of the provider that the address belongs to. */
export function findProvider(address: MailAddress): FoundServer | undefined {
  const provider = PROVIDERS.find(({ domains }) => domains.includes(address.domain));
  return provider && toServer(provider, address, "a well-known provider");
}

function toServer(
  { host, localUser, hint, gmail }: Provider,
  { address, local }: MailAddress,
  origin: string,
): FoundServer {
  return { host, port: 993, tls: "implicit", user: localUser ? local : address, origin, hint, gmail };
}

/** The condition for a login at a big provider that a person must know. */
export function findHint(host: string): string | undefined {
  return PROVIDERS.find((provider) => provider.host === host.toLowerCase())?.hint;
}

/** Why a mailbox cannot be opened over the network; undefined: it can. */
export function findObstacle({ domain }: MailAddress): string | undefined {
  if (!PROTON.includes(domain)) return undefined;
  return "Proton needs its Bridge on this machine, which shows the host, port, user and password to use.";
}

/** Whether a name from outside can be a server: letters, digits, hyphens and dots, at most 253 characters. */
function isHostName(name: string): boolean {
  return name.length <= 253 && name.includes(".") && name.split(".").every((label) => LABEL.test(label));
}

const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/i;

export interface MailAddress {
  /** The written address, with the domain in ASCII and lower case. */
  address: string;
  local: string;
  domain: string;
}

/** undefined: not an address that can receive mail from here. */
export function parseMailAddress(text: string): MailAddress | undefined {
  const [, local, written] = /^([^\s@"<>]{1,64})@([^\s@"<>:/?#%\\[\]]{1,253})$/.exec(text.trim()) ?? [];
  if (local === undefined || written === undefined) return undefined;
  const domain = domainToASCII(written).replace(/\.$/, "");
  if (!isHostName(domain) || isIP(domain) !== 0) return undefined;
  return { address: `${local}@${domain}`, local, domain };
}

const TIMEOUT_MS = 3000;

type MailResolver = Pick<Resolver, "resolveSrv" | "resolveMx">;

/**
 * Finds the IMAP server of an address: in the table of big providers, else by the domain's SRV records or its MX record. undefined:
 * none was found. Never rejects. `resolver` defaults to the system's name servers.
 */
export async function findServer(
  address: MailAddress,
  resolver: MailResolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 }),
): Promise<FoundServer | undefined> {
  const known = findProvider(address);
  if (known) return known;
  const [bySrv, byMx] = await Promise.all([findBySrv(address, resolver), findByMx(address, resolver)]);
  return bySrv ?? byMx;
}

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
  return isOwn || PROVIDERS.some((provider) => provider.host === host) ? found : { ...found, isForeign: true };
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
  const records = await resolver.resolveMx(address.domain).catch(() => []);
  const [first] = records.toSorted((one, other) => one.priority - other.priority);
  const name = first?.exchange.toLowerCase() ?? "";
  const provider = PROVIDERS.find(({ mx = [] }) => mx.some((end) => name === end || name.endsWith(`.${end}`)));
  return provider && toServer(provider, address, "the provider that receives its mail");
}
