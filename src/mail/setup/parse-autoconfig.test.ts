import { expect, test } from "vitest";
import { parseAutoconfig } from "./parse-autoconfig.ts";

const ann = { address: "ann@example.org", local: "ann", domain: "example.org" };
const parse = (xml: string) => parseAutoconfig(xml, ann, "a test");

function server(type: string, fields: Record<string, string>): string {
  const children = Object.entries(fields).map(([name, text]) => `<${name}>${text}</${name}>`);
  return `<incomingServer type="${type}">${children.join("\n  ")}</incomingServer>`;
}

const GOOD = { hostname: "imap.%EMAILDOMAIN%", port: "993", socketType: "SSL", username: "%EMAILADDRESS%" };

test("TLS from the first byte is preferred to STARTTLS, and IMAP alone counts", () => {
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

test("a server without a login name takes the address", () => {
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
])("%j holds none", (xml) => {
  expect(parse(xml)).toBeUndefined();
});

test("$-signs of an address are its own", () => {
  const dollar = { address: "$&@example.org", local: "$&", domain: "example.org" };
  expect(
    parseAutoconfig(server("imap", { ...GOOD, username: "%EMAILLOCALPART%" }), dollar, "x"),
  ).toBeUndefined();
  expect(
    parseAutoconfig(
      server("imap", { ...GOOD, username: "%EMAILLOCALPART%" }),
      { ...dollar, local: "$$" },
      "x",
    ),
  ).toMatchObject({ user: "$$" });
});
