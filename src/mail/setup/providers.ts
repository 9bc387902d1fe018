import { isIP } from "node:net";
import { domainToASCII } from "node:url";

interface Provider {
  /** Domains of its addresses. */
  domains: string[];
  /** Ends of the names of its servers for incoming mail: whose domain points there has its mailboxes there. */
  mx?: string[];
  host: string;
  /** What stands before the @ is the login name. */
  localUser?: true;
  hint?: string;
  gmail?: true;
}

const APP_PASSWORD = "It takes an app password, made in the account's security settings, not the account's own.";

/** Where a table serves better than what can be asked: big providers, and what they want to be known before. */
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
    hint: "It takes no password any more: log in by OAuth 2.",
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
  {
    domains: ["gmx.net", "gmx.de", "gmx.at", "gmx.ch"],
    mx: ["gmx.net"],
    host: "imap.gmx.net",
    hint: "IMAP must be switched on in the account's settings.",
  },
  { domains: ["gmx.com"], host: "imap.gmx.com", hint: "IMAP must be switched on in the account's settings." },
  { domains: ["web.de"], host: "imap.web.de", hint: "IMAP must be switched on in the account's settings." },
  {
    domains: ["t-online.de"],
    host: "secureimap.t-online.de",
    hint: "It takes the mail password, not the account's own.",
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

/** The server of a provider whose address it is. */
export function findProvider(address: MailAddress): FoundServer | undefined {
  const provider = PROVIDERS.find(({ domains }) => domains.includes(address.domain));
  return provider && toServer(provider, address, "a well-known provider");
}

/** The server of the provider that takes the domain's mail. */
export function findProviderByMx(exchange: string, address: MailAddress): FoundServer | undefined {
  const name = exchange.toLowerCase();
  const provider = PROVIDERS.find(({ mx = [] }) => mx.some((end) => name === end || name.endsWith(`.${end}`)));
  return provider && toServer(provider, address, "the provider that takes its mail");
}

/** Whether a server is one of a big provider's. */
export function isProvider(host: string): boolean {
  return PROVIDERS.some((provider) => provider.host === host);
}

/** What a person must know before a login at a big provider's server can work. */
export function findHint(host: string): string | undefined {
  return PROVIDERS.find((provider) => provider.host === host.toLowerCase())?.hint;
}

/** Why a provider's mailboxes cannot be opened over the network; undefined: they can. */
export function findObstacle({ domain }: MailAddress): string | undefined {
  return PROTON.includes(domain)
    ? "Proton needs its Bridge on this machine, which says what host, port, user and password to use."
    : undefined;
}

const PROTON = ["proton.me", "protonmail.com", "pm.me"];

function toServer(
  { host, localUser, hint, gmail }: Provider,
  { address, local }: MailAddress,
  origin: string,
): FoundServer {
  return { host, port: 993, tls: "implicit", user: localUser ? local : address, origin, hint, gmail };
}

/** A mail server that speaks TLS, as it was found for an address. What it says comes from outside. */
export interface FoundServer {
  host: string;
  port: number;
  tls: "implicit" | "starttls";
  /** The login name for the address. */
  user: string;
  /** Where it was found, for a person: `DNS`. */
  origin: string;
  /** What a person must know before the login can work. */
  hint?: string;
  /** Only DNS names it, which anyone on the way can forge, and it is no server of the domain's: a person must want it (RFC 6186, 6). */
  isForeign?: true;
  /** Whether Gmail's own API leads to the mailbox too. */
  gmail?: true;
}

/** Whether a name that came from outside can be a server's: letters, digits, hyphens and dots, at most 253 characters. */
export function isHostName(name: string): boolean {
  return name.length <= 253 && name.includes(".") && name.split(".").every((label) => LABEL.test(label));
}

const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/i;

export interface MailAddress {
  /** As it was written, the domain in ASCII and lower case. */
  address: string;
  local: string;
  domain: string;
}

/** Takes an address apart. undefined: it is none that mail can reach from here. */
export function parseMailAddress(text: string): MailAddress | undefined {
  const [, local, written] = /^([^\s@"<>]{1,64})@([^\s@"<>:/?#%\\[\]]{1,253})$/.exec(text.trim()) ?? [];
  if (local === undefined || written === undefined) return undefined;
  const domain = domainToASCII(written).replace(/\.$/, "");
  if (!isHostName(domain) || isIP(domain) !== 0) return undefined;
  return { address: `${local}@${domain}`, local, domain };
}
