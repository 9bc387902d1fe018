import { describe, expect, test } from "vitest";
import { createClientResolver, toClient } from "./exchange.ts";

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::FFFF:192.0.2.1", "192.0.2.1"],
  ["::ffff:c000:201", "192.0.2.1"],
  ["2001:0db8:0:0:0:0:0:1", "2001:db8::1"],
  ["192.0.2.1:4711", "192.0.2.1"],
  ["[::ffff:192.0.2.1]:4711", "192.0.2.1"],
  ["2001:DB8::1", "2001:db8::1"],
  ["[2001:db8::1]:4711", "2001:db8::1"],
  ["[2001:db8::1]", "2001:db8::1"],
  ["localhost", "unknown"],
  ["", "unknown"],
  [undefined, "unknown"],
])("%s counts as %s", (address, client) => {
  expect(toClient(address)).toBe(client);
});

describe("behind proxies", () => {
  const clientOf = createClientResolver(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]);

  test.each([
    ["no header", "10.0.0.1", undefined, "10.0.0.1"],
    ["an untrusted peer", "203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["a trusted peer", "10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["a trusted peer in IPv6 form", "::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["an address that the client made up", "10.0.0.1", "198.51.100.9, 198.51.100.1", "198.51.100.1"],
    ["several proxies", "2001:db8::5", "198.51.100.1, 192.0.2.7, 10.1.1.1", "198.51.100.1"],
    ["only proxies", "10.0.0.1", "10.0.0.2", "10.0.0.2"],
    ["something that is not an address", "10.0.0.1", "198.51.100.1, secret", "unknown"],
  ])("%s", (_what, peer, forwarded, client) => {
    expect(clientOf(peer, forwarded)).toBe(client);
  });
});
