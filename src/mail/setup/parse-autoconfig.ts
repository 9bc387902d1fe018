import { type FoundServer, isHostName } from "./found-server.ts";
import type { MailAddress } from "./mail-address.ts";

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
