import type { Resolver } from "node:dns/promises";
import { type FoundServer, isHostName } from "./found-server.ts";
import type { MailAddress } from "./mail-address.ts";
import { findProviderByMx } from "./providers.ts";

/** What is asked of DNS. */
export type MailResolver = Pick<Resolver, "resolveSrv" | "resolveMx">;

/** The server that the domain names in DNS (RFC 6186): with TLS from the first byte, else with STARTTLS. */
export async function findBySrv(
  { address, domain }: MailAddress,
  resolver: MailResolver,
): Promise<FoundServer | undefined> {
  const [implicit, starttls] = await Promise.all(
    ["_imaps._tcp", "_imap._tcp"].map((service) => resolveSrv(`${service}.${domain}`, resolver)),
  );
  if (implicit) return { ...implicit, tls: "implicit", user: address, origin: "DNS" };
  return starttls && { ...starttls, tls: "starttls", user: address, origin: "DNS" };
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

async function resolveSrv(
  name: string,
  resolver: MailResolver,
): Promise<{ host: string; port: number } | undefined> {
  const records = await resolver.resolveSrv(name).catch(() => []);
  const [first] = records.toSorted(
    (one, other) => one.priority - other.priority || other.weight - one.weight,
  );
  if (!first) return undefined;
  const host = first.name.replace(/\.$/, "").toLowerCase();
  // A dot alone says that there is no such service.
  return isHostName(host) && first.port > 0 ? { host, port: first.port } : undefined;
}
