import { expect, test } from "vitest";
import { MailError } from "../../core/errors.ts";
import { toMailError } from "./google.ts";

function answer(status: number, data: unknown): Error {
  return Object.assign(new Error("Request failed"), { response: { status, data } });
}

function refusal(status: number, reason: string, message = "No"): Error {
  return answer(status, { error: { code: status, message, errors: [{ reason }] } });
}

test.each([
  ["network", refusal(429, "rateLimitExceeded")],
  ["network", refusal(403, "userRateLimitExceeded")],
  ["network", answer(403, { error: { status: "RESOURCE_EXHAUSTED", message: "Quota" } })],
  ["network", refusal(500, "backendError")],
  ["network", answer(502, "<html>Bad gateway</html>")],
  ["network", new Error("connect ECONNREFUSED")],
  ["network", "thrown text"],
  ["network", undefined],
  ["login", refusal(401, "authError")],
  ["login", refusal(403, "insufficientPermissions")],
  ["login", answer(400, { error: "invalid_grant", error_description: "Token has been expired or revoked." })],
  ["login", answer(401, { error: "invalid_client" })],
  ["gone", refusal(404, "notFound")],
  ["gone", refusal(400, "failedPrecondition", "Mail service not enabled")],
])("%s: %o", (kind, thrown) => {
  expect(toMailError(thrown, "read the mailbox")).toMatchObject({ name: "MailError", kind, cause: thrown });
});

test("says what failed, Google's reason, and what to do", () => {
  const error = answer(400, { error: "invalid_grant", error_description: "Token has been\n\nrevoked" });
  expect(toMailError(error, "open the mailbox").message).toBe(
    "Google: cannot open the mailbox: Token has been revoked. The refresh token has ended or was revoked: run `npx hookline mail setup` again.",
  );
});

test("quotes one short line", () => {
  const { message } = toMailError(refusal(500, "x", `a\u0000\r\n${"b".repeat(10_000)}`), "read a mail");
  expect(message).toMatch(/^Google: cannot read a mail: a b{298}\.$/);
});

test("a MailError stays as it is", () => {
  const error = new MailError("gone", "No such mailbox.");
  expect(toMailError(error, "read")).toBe(error);
});
