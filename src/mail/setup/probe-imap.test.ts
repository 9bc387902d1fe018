import { once } from "node:events";
import type { AddressInfo, LookupFunction } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { CERTIFICATE } from "../../../test/support/certificate.ts";
import { probeImap } from "./probe-imap.ts";

const { signal } = new AbortController();
const ca = CERTIFICATE.cert;
const lookup: LookupFunction = (_host, _options, found) => found(null, [{ address: "127.0.0.1", family: 4 }]);

test("an IMAP server with a certificate for its name is one", async () => {
  const port = await greet("* OK ready\r\n");
  expect(await probeImap("localhost", port, { signal, ca, lookup })).toBe(true);
});

test.each([
  ["another name", "* OK ready\r\n", "mail.example.org", true],
  ["nobody's certificate", "* OK ready\r\n", "localhost", false],
  ["another protocol", "220 smtp ready\r\n", "localhost", true],
])("%s: none", async (_what, greeting, host, trusted) => {
  const port = await greet(greeting);
  expect(await probeImap(host, port, { signal, lookup, ...(trusted && { ca }) })).toBe(false);
});

test("nobody there, or nothing said until the signal: none", async () => {
  const port = await greet("");
  expect(await probeImap("localhost", port, { signal: AbortSignal.timeout(20), ca, lookup })).toBe(false);
  expect(await probeImap("localhost", 1, { signal, ca, lookup })).toBe(false);
});

async function greet(greeting: string): Promise<number> {
  const server = createServer(CERTIFICATE, (socket: TLSSocket) => {
    socket.on("error", () => undefined);
    if (greeting) socket.write(greeting);
  });
  server
    .on("tlsClientError", () => undefined)
    .listen(0, "127.0.0.1")
    .unref();
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
