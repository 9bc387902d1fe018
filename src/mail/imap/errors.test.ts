import { describe, expect, test } from "vitest";
import { MailError } from "../../errors.ts";
import { toMailError } from "./errors.ts";

const ADDRESS = { host: "mail.example.com", port: 993, tls: "implicit", user: "ann" } as const;
const refusal = { authenticationFailed: true, responseStatus: "NO" };

const toError = (fields: object): MailError =>
  toMailError(Object.assign(new Error("Command failed"), fields), ADDRESS, "INBOX");

describe("a login", () => {
  test.each([
    [{ serverResponseCode: "AUTHENTICATIONFAILED", responseText: "Invalid credentials (Failure)" }],
    [{ serverResponseCode: "AUTHORIZATIONFAILED" }],
    [{ serverResponseCode: "ALERT", responseText: "Application-specific password required" }],
    [{ responseText: "LOGIN failed." }],
  ])("is refused with %j", (fields) => {
    expect(toError({ ...refusal, ...fields })).toMatchObject({ kind: "login" });
  });

  test.each([
    [{ serverResponseCode: "UNAVAILABLE", responseText: "Temporary authentication failure." }],
    [{ serverResponseCode: "INUSE" }],
    [{ serverResponseCode: "LIMIT", responseText: "Too many simultaneous connections." }],
    [{ serverResponseCode: "ALERT", responseText: "Too many simultaneous connections. (Failure)" }],
    [{ responseText: "[SYS/TEMP] Try again later" }],
  ])("fails temporarily with %j", (fields) => {
    expect(toError({ ...refusal, ...fields })).toMatchObject({ kind: "network" });
  });

  test("is not refused if the connection was lost", () => {
    expect(toError({ authenticationFailed: true, code: "NoConnection" })).toMatchObject({ kind: "network" });
  });
});

test.each([
  [{ mailboxMissing: true }, "gone"],
  [{ serverResponseCode: "NONEXISTENT" }, "gone"],
  [{ serverResponseCode: "NOPERM" }, "gone"],
  [{ serverResponseCode: "SERVERBUG" }, "network"],
  [{ code: "ECONNRESET" }, "network"],
])("a folder with %j is %s", (fields, kind) => {
  expect(toError(fields)).toMatchObject({ kind });
});

test.each([
  [{ code: "CERT_HAS_EXPIRED", message: "certificate has expired" }, /not accepted: certificate has expired$/],
  [{ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE", message: "no; try x" }, /: no; .*NODE_EXTRA_CA_CERTS/],
  [
    { code: "ERR_TLS_CERT_ALTNAME_INVALID", cert: { subjectaltname: "DNS:a.example, DNS:b.example" } },
    /certificate for a\.example, b\.example, not for mail\.example\.com/,
  ],
  [{ code: "ERR_TLS_CERT_ALTNAME_INVALID" }, /certificate for another name, not for mail/],
])("TLS fails with %j", (fields, message) => {
  expect(toError(fields)).toMatchObject({ kind: "tls", message: expect.stringMatching(message) });
});

test.each([
  ["ENOTFOUND", "the host mail.example.com does not exist"],
  ["ECONNREFUSED", "nothing listens at mail.example.com:993"],
])("describes %s", (code, message) => {
  expect(toError({ code })).toMatchObject({ kind: "network", message });
});

test("the message is one short line in the server's own words", () => {
  const { message } = toError({ responseText: `Go\r\naway \u001b[31m${"x".repeat(1000)}` });
  expect(message).toMatch(/^mail\.example\.com:993: Go away \[31mx+$/);
  expect(message.length).toBeLessThan(300);
});

test("a MailError stays as it is", () => {
  const error = new MailError("login", "No.");
  expect(toMailError(error, ADDRESS)).toBe(error);
});
