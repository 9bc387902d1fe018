import { once } from "node:events";
import { createServer, get, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import { type DnsRecords, startDns } from "../../../test/support/dns.ts";
import { type FindOptions, findServer, parseAutoconfig } from "./discover.ts";
import { parseMailAddress } from "./providers.ts";

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
      expect(await find(address, { fetch: () => Promise.reject(new Error("asked")) })).toMatchObject(server);
    });

    test("comes first from the domain's own autoconfig", async () => {
      const { asked, ...web } = await startWeb((request, response) => {
        const isOwn = request.headers.host === "autoconfig.example.org";
        response.writeHead(isOwn ? 200 : 404).end(config("imap.example.org", "993", "SSL", "%EMAILLOCALPART%"));
      });
      expect(await find("ann@example.org", { ...web })).toEqual({
        host: "imap.example.org",
        port: 993,
        tls: "implicit",
        user: "ann",
        origin: "the domain's own configuration",
      });
      expect(asked).toContain("https://autoconfig.thunderbird.net/v1.1/example.org");
      expect(asked.filter((url) => url.includes("ann")).every((url) => new URL(url).host.endsWith("example.org"))).toBe(
        true,
      );
    });

    test("is found behind redirects, but only over https", async () => {
      const web = await startWeb((request, response) => {
        const { host = "" } = request.headers;
        const to = {
          "example.org": "https://www.example.org/x",
          "autoconfig.example.org": "http://evil.example/x",
        }[host];
        if (to) response.writeHead(301, { location: to }).end();
        else response.writeHead(host.includes("example") ? 200 : 404).end(config(`imap.${host}`, "993", "SSL"));
      });
      expect(await find("ann@example.org", web)).toMatchObject({ host: "imap.www.example.org" });
      expect(web.asked.filter((url) => url.includes("evil"))).toEqual([]);
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
      expect(await find("ann@example.org", { dns })).toEqual({
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
      expect((await find("ann@example.org", { dns }))?.isForeign).toBe(isForeign);
    });

    test("has STARTTLS if DNS names nothing else", async () => {
      const dns = {
        "_imaps._tcp.example.org": { srv: [{ target: ".", port: 0 }] },
        "_imap._tcp.example.org": { srv: [{ target: "mx.example.org", port: 143 }] },
      };
      expect(await find("ann@example.org", { dns })).toMatchObject({ port: 143, tls: "starttls" });
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
      expect(await find("ann@example.org", { dns })).toMatchObject({ host: "imap.gmail.com", gmail: true });
    });

    test("is undefined when no lookup answers in time", async () => {
      const never = (): Promise<never> => new Promise(() => undefined);
      const options = { fetch: never, resolver: { resolveMx: never, resolveSrv: never } };
      expect(await find("ann@example.org", { ...options, timeoutMs: 20 })).toBeUndefined();
    });

    test("an endless autoconfig is read up to 64 KiB", async () => {
      const web = await startWeb((_request, response) => {
        response.write(config("imap.example.org", "993", "SSL").replace("</clientConfig>", ""));
        const more = (): void => {
          while (response.write("x".repeat(16_384)));
          response.once("drain", more);
        };
        more();
      });
      expect(await find("ann@example.org", { ...web, timeoutMs: 20_000 })).toMatchObject({
        host: "imap.example.org",
      });
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

  function config(host: string, port: string, socketType: string, user = "%EMAILADDRESS%"): string {
    return `<?xml version="1.0"?><clientConfig version="1.1"><emailProvider id="x">
    <incomingServer type="imap"><hostname>${host}</hostname><port>${port}</port><socketType>${socketType}</socketType>
    <username>${user}</username></incomingServer></emailProvider></clientConfig>`;
  }

  async function find(address: string, { dns = {}, ...options }: FindOptions & { dns?: Record<string, DnsRecords> }) {
    const { resolver, close } = await startDns(dns);
    closers.push(close);
    const notFound = (): Promise<Response> => Promise.resolve(new Response(null, { status: 404 }));
    const parsed = parseMailAddress(address);
    return parsed && findServer(parsed, { resolver, fetch: notFound, timeoutMs: 20_000, ...options });
  }

  /** A web server that answers for every host. */
  async function startWeb(
    listener: RequestListener,
  ): Promise<Required<Pick<FindOptions, "fetch">> & { asked: string[] }> {
    const server: Server = createServer(listener).listen(0, "127.0.0.1");
    await once(server, "listening");
    closers.push(() => server.close().closeAllConnections());
    const { port } = server.address() as AddressInfo;
    const asked: string[] = [];
    return {
      asked,
      fetch: async (url, init) => {
        asked.push(url.href);
        // A fetch sets its host by itself: the one that was meant goes another way.
        return fetchFrom(port, url, init);
      },
    };
  }

  function fetchFrom(port: number, url: URL, { signal }: { signal: AbortSignal }): Promise<Response> {
    return new Promise((resolve, reject) => {
      const headers = { host: url.host };
      const request = get({ port, host: "127.0.0.1", path: url.pathname + url.search, headers, signal }, (answer) => {
        const { statusCode: status = 500, headers: given } = answer;
        const body = status === 404 ? null : Readable.toWeb(answer);
        resolve(
          new Response(body as ReadableStream, {
            status,
            headers: given.location ? { location: given.location } : {},
          }),
        );
      });
      request.on("error", reject);
    });
  }
});

describe("parseAutoconfig", () => {
  const ann = { address: "ann@example.org", local: "ann", domain: "example.org" };
  const parse = (xml: string) => parseAutoconfig(xml, ann, "a test");

  function server(type: string, fields: Record<string, string>): string {
    const children = Object.entries(fields).map(([name, text]) => `<${name}>${text}</${name}>`);
    return `<incomingServer type="${type}">${children.join("\n  ")}</incomingServer>`;
  }

  const GOOD = { hostname: "imap.%EMAILDOMAIN%", port: "993", socketType: "SSL", username: "%EMAILADDRESS%" };

  test("implicit TLS is preferred to STARTTLS, other protocols are ignored", () => {
    const xml = [
      server("pop3", { ...GOOD, hostname: "pop.example.org" }),
      server("imap", { ...GOOD, port: "143", socketType: "STARTTLS" }),
      server("imap", GOOD),
    ].join("\n");
    expect(parse(xml)).toEqual({
      host: "imap.example.org",
      port: 993,
      tls: "implicit",
      user: "ann@example.org",
      origin: "a test",
    });
  });

  test("the login name defaults to the address", () => {
    expect(parse(server("imap", { ...GOOD, username: "" }))).toMatchObject({ user: "ann@example.org" });
  });

  test.each([
    ["no TLS", { ...GOOD, socketType: "plain" }],
    ["no host", { ...GOOD, hostname: "" }],
    ["a host with a space", { ...GOOD, hostname: "imap example.org" }],
    ["a host with control characters", { ...GOOD, hostname: "imap.example.org\u001b[2J" }],
    ["a host with a path", { ...GOOD, hostname: "example.org/x" }],
    ["no port", { ...GOOD, port: "x" }],
    ["a port too high", { ...GOOD, port: "65536" }],
    ["a login name with markup", { ...GOOD, username: "<b>" }],
    ["an entity in the login name", { ...GOOD, username: "&lol;" }],
  ])("%s: no server", (_what, fields) => {
    expect(parse(server("imap", fields))).toBeUndefined();
  });

  test.each([
    "",
    "<",
    "<incomingServer",
    '<incomingServer type="imap">',
    `<!-- ${server("imap", GOOD)} -->`,
    '<!-- <incomingServer type="imap">',
    "not found",
  ])("%j has no server", (xml) => {
    expect(parse(xml)).toBeUndefined();
  });

  test("dollar signs in an address have no special meaning", () => {
    const dollar = { address: "$&@example.org", local: "$&", domain: "example.org" };
    expect(parseAutoconfig(server("imap", { ...GOOD, username: "%EMAILLOCALPART%" }), dollar, "x")).toBeUndefined();
    expect(
      parseAutoconfig(server("imap", { ...GOOD, username: "%EMAILLOCALPART%" }), { ...dollar, local: "$$" }, "x"),
    ).toMatchObject({ user: "$$" });
  });
});
