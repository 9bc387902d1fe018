import { Resolver } from "node:dns/promises";
import {
  findProvider,
  findProviderByMx,
  type FoundServer,
  isHostName,
  isProvider,
  type MailAddress,
} from "./providers.ts";

/** How long a lookup may take. */
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
  const records = await resolver.resolveMx(address.domain).catch(() => []);
  const [first] = records.toSorted((one, other) => one.priority - other.priority);
  return first && findProviderByMx(first.exchange, address);
}
