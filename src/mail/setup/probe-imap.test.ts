import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo, LookupFunction } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createServer, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { probeImap } from "./probe-imap.ts";

const signal = AbortSignal.timeout(60_000);
const lookup: LookupFunction = (_host, _options, found) => found(null, [{ address: "127.0.0.1", family: 4 }]);

let folder: string;
let key: Buffer;
let ca: Buffer;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-probe-"));
  const files = ["-keyout", path.join(folder, "key"), "-out", path.join(folder, "cert")];
  const names = ["-subj", "/CN=imap.example.org", "-addext", "subjectAltName=DNS:imap.example.org"];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  execFileSync("openssl", ["req", "-x509", ...kind, ...names, ...files], { stdio: "pipe" });
  key = readFileSync(path.join(folder, "key"));
  ca = readFileSync(path.join(folder, "cert"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("an IMAP server with a certificate for its name is one", async () => {
  const port = await greet("* OK ready\r\n");
  expect(await probeImap("imap.example.org", port, { signal, ca, lookup })).toBe(true);
});

test.each([
  ["another name", "* OK ready\r\n", "mail.example.org", true],
  ["nobody's certificate", "* OK ready\r\n", "imap.example.org", false],
  ["another protocol", "220 smtp ready\r\n", "imap.example.org", true],
])("%s: none", async (_what, greeting, host, trusted) => {
  const port = await greet(greeting);
  expect(await probeImap(host, port, { signal, lookup, ...(trusted && { ca }) })).toBe(false);
});

test("nobody there, or nothing said until the signal: none", async () => {
  const port = await greet("");
  expect(await probeImap("imap.example.org", port, { signal: AbortSignal.timeout(20), ca, lookup })).toBe(
    false,
  );
  expect(await probeImap("imap.example.org", 1, { signal, ca, lookup })).toBe(false);
});

async function greet(greeting: string): Promise<number> {
  const server = createServer({ key, cert: ca }, (socket: TLSSocket) => {
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
