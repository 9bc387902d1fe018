import { describe, expect, test } from "vitest";
import { resolveAddress, toMailboxUrl } from "./address.ts";

describe("a server's address", () => {
  test.each([
    [{}, { port: 993, tls: "implicit" }],
    [{ tls: "starttls" }, { port: 143, tls: "starttls" }],
    [
      { tls: "starttls", port: 1143 },
      { port: 1143, tls: "starttls" },
    ],
  ] as const)("of %j", (settings, expected) => {
    const address = resolveAddress({ kind: "imap", host: "mail.example.com", user: "ann", ...settings });
    expect(address).toEqual({ host: "mail.example.com", user: "ann", ...expected });
  });

  test.each(["127.0.0.1", "::1", "localhost"])("goes without TLS to %s", (host) => {
    expect(resolveAddress({ kind: "imap", host, user: "ann", tls: "none" })).toMatchObject({ port: 143 });
  });
});

test.each([
  [{}, "imap://ann%40example.com@mail.example.com"],
  [{ port: 1993 }, "imap://ann%40example.com@mail.example.com:1993"],
  [{ host: "::1" }, "imap://ann%40example.com@[::1]"],
])("a mailbox's name with %j", (settings, url) => {
  const mailbox = { kind: "imap", host: "mail.example.com", user: "ann@example.com", ...settings } as const;
  expect(toMailboxUrl(resolveAddress(mailbox))).toBe(url);
});
