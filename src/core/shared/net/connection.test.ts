/** Requests that try to leave the host of their set. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDns } from "../../../../test/support/dns.ts";
import { startToolServer, type ToolServer } from "../../../../test/support/tool-server.ts";
import { openConnection, type ResolveHost } from "./connection.ts";

let server: ToolServer;
let other: ToolServer;
let dns: Awaited<ReturnType<typeof startDns>>;

beforeAll(async () => {
  server = await startToolServer();
  other = await startToolServer();
  dns = await startDns({
    "one.test": { a: [["127.0.0.1"]] },
    "rebinding.test": { a: [["127.0.0.1"], ["169.254.169.254"]] },
    "mixed.test": { a: [["127.0.0.1", "169.254.169.254"]] },
    "metadata.test": { a: [["169.254.169.254"]] },
    "nothing.test": { a: [[]] },
  });
});
afterAll(async () => {
  await dns.close();
  await other.close();
  await server.close();
});

const resolve: ResolveHost = async (name) =>
  (await dns.resolver.resolve4(name)).map((address) => ({ address, family: 4 }));

function connect(baseUrl: string, isPrivate = true) {
  return openConnection({ baseUrl, private: isPrivate, resolve });
}

async function read(baseUrl: string, path = "/ok", init?: RequestInit, isPrivate = true): Promise<[number, string]> {
  const connection = connect(baseUrl, isPrivate);
  const response = await connection.fetch(new URL(path, baseUrl), init);
  connection.close();
  return [response.status, await response.text()];
}

test("a name is resolved once, and its address of that time is the one that is connected to", async () => {
  expect(await read(`http://rebinding.test:${server.port}`)).toEqual([200, "hello"]);
  expect(dns.asked.get("rebinding.test")).toBe(1);
});

test("an address that a name gets later is checked as the first one was", async () => {
  await expect(read(`http://rebinding.test:${server.port}`)).rejects.toThrow("never called");
});

test.each(["mixed.test", "metadata.test"])("%s is not called, not even with private: true", async (name) => {
  const count = server.requests.length;
  await expect(read(`http://${name}:${server.port}`)).rejects.toThrow("never called");
  expect(server.requests).toHaveLength(count);
});

test("a name without an address is an error of ours", async () => {
  await expect(read(`http://nothing.test:${server.port}`)).rejects.toMatchObject({ name: "NotSent" });
});

test.each(["one.test", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]"])(
  "%s needs private: true",
  async (host) => {
    await expect(read(`http://${host}:${server.port}`, "/ok", {}, false)).rejects.toThrow("set private: true");
  },
);

test.each(["169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "0.0.0.0", "[::]", "[::ffff:a9fe:a9fe]"])(
  "%s is never called",
  async (host) => {
    await expect(read(`http://${host}/`)).rejects.toThrow("never called");
  },
);

test("a redirect on the same scheme, host and port is followed", async () => {
  expect(await read(`http://one.test:${server.port}`, "/to?u=/ok")).toEqual([200, "hello"]);
  expect(await read(`http://one.test:${server.port}`, `/to?u=//ONE.test.:${server.port}/ok`)).toEqual([200, "hello"]);
});

test.each([
  ["another port", () => other.url],
  ["another host", () => `http://127.0.0.1:${server.port}/ok`],
  ["another scheme", () => `https://one.test:${server.port}/ok`],
  ["a metadata address", () => "http://169.254.169.254/latest/meta-data"],
  ["a user", () => `http://user:secret@one.test:${server.port}/ok`],
  ["a file", () => "file:///etc/passwd"],
  ["no address", () => "http://["],
])("a redirect to %s is not followed", async (_, location) => {
  const counts = [server.requests.length, other.requests.length];
  const [status] = await read(`http://one.test:${server.port}`, `/to?u=${encodeURIComponent(location())}`);
  expect(status).toBe(302);
  expect([server.requests.length, other.requests.length]).toEqual([counts[0]! + 1, counts[1]]);
});

test("a redirect that would repeat a request which changes something is not followed", async () => {
  const [status] = await read(`http://one.test:${server.port}`, "/to?u=/ok", { method: "POST", body: "{}" });
  expect(status).toBe(302);
});

test("redirects end", async () => {
  const count = server.requests.length;
  const [status] = await read(`http://one.test:${server.port}`, "/to?u=/to?u=/to");
  expect(status).toBe(302);
  expect(server.requests.length - count).toBeLessThan(10);
});

test.each(["http://other.test/", "http://one.test:1/", "https://one.test/", "http://a:b@one.test/"])(
  "%s is not the host of the set",
  async (url) => {
    await expect(connect("http://one.test").fetch(url)).rejects.toThrow("is not the host of this set");
  },
);

test("a request that was sent and has no answer is no NotSent", async () => {
  await expect(read(`http://one.test:${server.port}`, "/cut")).rejects.not.toMatchObject({ name: "NotSent" });
});

test("a port that is never called: nothing was sent", async () => {
  await expect(read("http://one.test:1")).rejects.toMatchObject({
    name: "NotSent",
    message: "Port 1 is for another protocol than HTTP, and is never called.",
  });
});

test("nothing listens: nothing was sent", async () => {
  const closed = await startToolServer();
  await closed.close();
  await expect(read(`http://one.test:${closed.port}`)).rejects.toMatchObject({
    name: "NotSent",
    message: expect.stringContaining("nothing listens"),
  });
});
