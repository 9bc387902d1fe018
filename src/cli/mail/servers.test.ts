import { afterEach, describe, expect, test } from "vitest";
import { type DnsRecords, startDns } from "../../../test/support/dns.ts";
import { findServer, type FoundServer, parseMailAddress } from "./servers.ts";

describe("findServer", () => {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  describe("the server of an address", () => {
    test.each([
      ["ann@gmail.com", { host: "imap.gmail.com", user: "ann@gmail.com", gmail: true }],
      ["ann@icloud.com", { host: "imap.mail.me.com", user: "ann" }],
      ["Ann@GMX.de", { host: "imap.gmx.net", user: "Ann@gmx.de" }],
    ])("of %s is known without a lookup", async (address, server) => {
      expect(await find(address, {})).toMatchObject(server);
    });

    test("comes from SRV records", async () => {
      const dns = {
        "_imaps._tcp.example.org": {
          srv: [
            { target: "late.example.org", port: 993, priority: 20 },
            { target: "mx.example.org", port: 1993, weight: 5 },
            { target: "light.example.org", port: 993, weight: 1 },
          ],
        },
      };
      expect(await find("ann@example.org", dns)).toEqual({
        host: "mx.example.org",
        port: 1993,
        tls: "implicit",
        user: "ann@example.org",
        origin: "DNS",
      });
    });

    test.each([
      ["mx.example.org", undefined],
      ["imap.fastmail.com", undefined],
      ["mx.example.org.evil.example", true],
      ["evilexample.org", true],
    ])("%s from DNS is foreign: %s", async (target, isForeign) => {
      const dns = { "_imaps._tcp.example.org": { srv: [{ target, port: 993 }] } };
      expect((await find("ann@example.org", dns))?.isForeign).toBe(isForeign);
    });

    test("has STARTTLS if DNS names nothing else", async () => {
      const dns = {
        "_imaps._tcp.example.org": { srv: [{ target: ".", port: 0 }] },
        "_imap._tcp.example.org": { srv: [{ target: "mx.example.org", port: 143 }] },
      };
      expect(await find("ann@example.org", dns)).toMatchObject({ port: 143, tls: "starttls" });
    });

    test("is that of the provider that receives the domain's mail", async () => {
      const dns = {
        "example.org": {
          mx: [
            { exchange: "aspmx.l.google.com", priority: 1 },
            { exchange: "x.example", priority: 5 },
          ],
        },
      };
      expect(await find("ann@example.org", dns)).toMatchObject({ host: "imap.gmail.com", gmail: true });
    });

    test("is undefined if DNS knows none", async () => {
      expect(await find("ann@example.org", {})).toBeUndefined();
    });
  });

  test.each([
    "ann",
    "ann@",
    "@example.org",
    "ann@localhost",
    "ann@127.0.0.1",
    "ann@[127.0.0.1]",
    "ann@0x7f.1",
    "ann@exa mple.org",
    "ann@example.org/x",
    "ann@example.org:443",
    "ann@user@example.org",
    "ann@-a.example",
    `ann@${"a".repeat(64)}.example`,
    `ann@${"a.".repeat(200)}org`,
    "ann\r\n@example.org",
  ])("%s is not a valid address", (text) => {
    expect(parseMailAddress(text)).toBeUndefined();
  });

  test("a domain is converted to ASCII", () => {
    expect(parseMailAddress(" ann@BÜCHER.example ")).toMatchObject({ address: "ann@xn--bcher-kva.example" });
  });

  async function find(address: string, dns: Record<string, DnsRecords> = {}): Promise<FoundServer | undefined> {
    const { resolver, close } = await startDns(dns);
    closers.push(close);
    const parsed = parseMailAddress(address);
    return parsed && findServer(parsed, resolver);
  }
});
