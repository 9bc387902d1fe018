import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createSender, type Message, requireCallback } from "./callback.ts";

const RULES = { allowHosts: [], publicUrl: "https://hooks.example.com/in" };

describe("an address for events", () => {
  test.each([
    "https://example.com/",
    "https://example.com:443/callback?mcp_event_subscription=a%20b",
    "https://[2606:4700:4700::1111]/x",
    "https://hooks.example.com/other",
  ])("can be %s", (url) => expect(requireCallback(url, RULES).protocol).toBe("https:"));

  test.each([
    "http://example.com/",
    "https://example.com:8443/",
    "https://user@example.com/",
    "https://user:password@example.com/",
    "https://@example.com/",
    "https://example.com/#fragment",
    "https://example.com/#",
    "https://example.com/a b",
    "https://example.com/\n",
    " https://example.com/",
    "https://exämple.com/",
    "ftp://example.com/",
    "javascript:alert(1)",
    "example.com",
    "",
    `https://example.com/${"a".repeat(2048)}`,
    "https://hooks.example.com/in",
    "https://hooks.example.com./in/mcp?x=1",
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://10.1.2.3/",
    "https://169.254.169.254/latest/meta-data",
    "https://0.0.0.0/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[2002:7f00:1::]/",
    "https://[fe80::1]/",
    "https://[fd00:ec2::254]/",
  ])("cannot be %j", (url) => expect(() => requireCallback(url, RULES)).toThrow("delivery.url"));

  test("can be anything private on a host that the operator allows, but no metadata service", () => {
    const rules = { ...RULES, allowHosts: ["127.0.0.1", "inside", "::1", "169.254.169.254"] };
    for (const url of ["http://127.0.0.1:8080/x", "http://inside:1/", "http://[::1]:3000/"])
      requireCallback(url, rules);
    expect(() => requireCallback("http://169.254.169.254/", rules)).toThrow("is not public");
    expect(() => requireCallback("http://127.0.0.2:8080/", rules)).toThrow("https");
  });
});

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listen(answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
  return (server.address() as AddressInfo).port;
}

function messageTo(url: string): Message {
  return { url, subscription: "sub_1", id: "e1", body: "{}", secrets: ["whsec_AAAA"] };
}

describe("a message", () => {
  test("is not sent to a name with a private address among its addresses, whatever it was before", async () => {
    let requests = 0;
    const port = await listen((_request, response) => {
      requests += 1;
      response.end();
    });
    const answers = [["127.0.0.1"], ["93.184.215.14", "127.0.0.1"], ["::ffff:10.0.0.1"], ["169.254.169.254"], []];
    for (const addresses of answers) {
      const sender = createSender(async () =>
        addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );
      const url = `http://name.example:${port}/`;
      const failed = { kind: "failed", reason: "connection_refused" };
      expect(await sender.post(messageTo(url), [])).toEqual(failed);
      expect(await sender.postOnce(messageTo(url), [], () => undefined)).toEqual(failed);
      sender.close();
    }
    expect(requests).toBe(0);
  });

  test("goes to the address that was checked, and only there: a redirect is an answer", async () => {
    const paths: string[] = [];
    const port = await listen((request, response) => {
      paths.push(request.url ?? "");
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    const sender = createSender(async () => [{ address: "127.0.0.1", family: 4 }]);
    const result = await sender.post(messageTo(`http://inside:${port}/a?b`), ["inside"]);
    expect(result).toEqual({ kind: "failed", reason: "http_4xx", status: 307 });
    expect(paths).toEqual(["/a?b"]);
    sender.close();
  });

  test("reads 64 KiB of an answer, and says only a word about a failure", async () => {
    const port = await listen((request, response) => {
      response.writeHead(request.url === "/long" ? 200 : 500).end("s".repeat(1_000_000));
    });
    const sender = createSender();
    const long = await sender.post(messageTo(`http://127.0.0.1:${port}/long`), ["127.0.0.1"]);
    expect(long.kind === "ok" && long.text.length).toBe(65_536);
    expect(await sender.post(messageTo(`http://127.0.0.1:${port}/`), ["127.0.0.1"])).toEqual({
      kind: "failed",
      reason: "http_5xx",
      status: 500,
    });
    expect(await sender.post(messageTo("http://127.0.0.1:1/"), ["127.0.0.1"])).toEqual({
      kind: "failed",
      reason: "connection_refused",
    });
    expect(await sender.post(messageTo(`https://127.0.0.1:${port}/`), ["127.0.0.1"])).toMatchObject({ kind: "failed" });
    sender.close();
  });

  test("that is not answered in five seconds has failed", async () => {
    const port = await listen(() => undefined);
    const sender = createSender();
    expect(await sender.post(messageTo(`http://127.0.0.1:${port}/`), ["127.0.0.1"])).toEqual({
      kind: "failed",
      reason: "timeout",
    });
    sender.close();
  });
});
