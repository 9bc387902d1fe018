import type { LookupAddress } from "node:dns";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { classifyAddress } from "../../core/shared/net/addresses.ts";
import { type ResolveHost, resolveHost } from "../../core/shared/net/connection.ts";

export interface HostsOptions {
  /** `name` (port 443) or `name:port`. */
  names: readonly string[];
  /** Default: the system's. */
  resolve?: ResolveHost;
  /** Default: a TCP connection. */
  dial?: (addresses: LookupAddress[], port: number) => Socket;
}

const HTTPS = 443;
export const HOST_NAME = /^(?<name>[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::(?<port>[1-9]\d{0,4}))?$/;

/** Answers `CONNECT`: opens a tunnel to the listed hosts, and to public addresses only. */
export function openHosts({
  names,
  resolve = resolveHost,
  dial = dialTcp,
}: HostsOptions): (request: IncomingMessage, client: Duplex, head: Buffer) => void {
  const allowed = new Set(names.map(toHost));
  return (request, client, head) => {
    client.on("error", () => client.destroy());
    open(toHost(request.url ?? ""), client, head).catch(() => refuse(client, 502, "cannot be reached"));
  };

  async function open(host: string, client: Duplex, head: Buffer): Promise<void> {
    if (!allowed.has(host)) return refuse(client, 403, "is not among the hosts of this sandbox");
    const [name = "", port = ""] = host.split(":");
    const addresses = await resolve(name);
    // One that is not public forbids the name: which one of several is used is chance.
    const isPublic = addresses.length > 0 && addresses.every(({ address }) => classifyAddress(address) === "public");
    if (!isPublic) return refuse(client, 403, "has an address that is not public");
    const server = dial(addresses, Number(port));
    server.once("connect", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      server.write(head);
      server.pipe(client).pipe(server);
    });
    server.on("error", () => (server.connecting ? refuse(client, 502, "cannot be reached") : client.destroy()));
    client.on("close", () => server.destroy());
  }
}

/** In one form: lower case, without a final dot, the port written out. */
function toHost(written: string): string {
  const { name = "", port = String(HTTPS) } =
    HOST_NAME.exec(written.toLowerCase().replace(/\.(?=:|$)/, ""))?.groups ?? {};
  return `${name}:${port}`;
}

/** The socket connects to the addresses that were checked, so a second answer of the name server has no effect. */
function dialTcp(addresses: LookupAddress[], port: number): Socket {
  return connect({
    host: "checked",
    port,
    autoSelectFamily: true,
    lookup: (_name, { all }, callback) =>
      all ? callback(null, addresses) : callback(null, addresses[0]!.address, addresses[0]!.family),
  });
}

function refuse(client: Duplex, status: number, what: string): void {
  const text = `The host ${what}.\n`;
  client.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: ${text.length}\r\nconnection: close\r\n\r\n${text}`);
}
