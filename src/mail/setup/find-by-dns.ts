import type { Resolver } from "node:dns/promises";
import { type FoundServer, isHostName } from "./found-server.ts";
import type { MailAddress } from "./mail-address.ts";
import { findProviderByMx, isProvider } from "./providers.ts";

/** What is asked of DNS. */
export type MailResolver = Pick<Resolver, "resolveSrv" | "resolveMx">;

/** The server that the domain names in DNS (RFC 6186): with TLS from the first byte, else with STARTTLS. */
export async function findBySrv(
  address: MailAddress,
  resolver: MailResolver,
): Promise<FoundServer | undefined> {
  const [implicit, starttls] = await Promise.all(
    ["_imaps._tcp", "_imap._tcp"].map((service) => resolveSrv(`${service}.${address.domain}`, resolver)),
  );
  if (implicit) return toFound(implicit, "implicit", address);
  return starttls && toFound(starttls, "starttls", address);
}

/** The server of the provider that takes the domain's mail. */
export async function findByMx(
  address: MailAddress,
  resolver: MailResolver,
): Promise<FoundServer | undefined> {
  const records = await resolver.resolveMx(address.domain);
  const [first] = records.toSorted((one, other) => one.priority - other.priority);
  return first && findProviderByMx(first.exchange, address);
}

type Named = Pick<FoundServer, "host" | "port">;

async function resolveSrv(name: string, resolver: MailResolver): Promise<Named | undefined> {
  const records = await resolver.resolveSrv(name).catch(() => []);
  const [first] = records.toSorted(
    (one, other) => one.priority - other.priority || other.weight - one.weight,
  );
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
