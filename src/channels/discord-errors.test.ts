import { DiscordAPIError, HTTPError } from "@discordjs/rest";
import { expect, test } from "vitest";
import { readRateLimit, toDriverError } from "./discord-errors.ts";

const { signal } = new AbortController();

test.each([
  [401, 0, "401: Unauthorized", "lasting", "Check channels.discord.token."],
  [404, 10_003, "Unknown Channel", "lasting", "Check the recipient: it is a channel's id, not a user's."],
  [403, 50_001, "Missing Access", "lasting", "Let the bot see the channel."],
  [400, 50_035, "Invalid Form Body", "lasting", ""],
  [408, 0, "Request Timeout", "passing", ""],
])("a refusal with %d and code %d", (...[status, code, words, kind, advice]) => {
  const error = new DiscordAPIError({ code, message: words }, code, status, "POST", "/", {});
  const message = `Discord answered ${status}: ${words}. ${advice}`.trim();
  expect(toDriverError(error, signal)).toMatchObject({ kind, message });
});

test("a service that broke down is passing", () => {
  const error = new HTTPError(502, "Bad Gateway", "POST", "/", {});
  expect(toDriverError(error, signal)).toMatchObject({
    kind: "passing",
    message: "Discord answered 502: Bad Gateway.",
  });
});

test("an answer that is not Discord's is passing", () => {
  expect(toDriverError(new SyntaxError("Unexpected <"), signal)).toMatchObject({
    kind: "passing",
    message: "Discord's answer could not be read.",
  });
});

test.each([
  [{ retry_after: 1.337 }, { "retry-after": "2" }, 1337],
  ["error code: 1015", { "retry-after": "60" }, 60_000],
  [{ message: "Slow down" }, {}, undefined],
])("a rate limit of %j with %j is %j ms", async (body, headers, retryAfterMs) => {
  const response = new Response(typeof body === "string" ? body : JSON.stringify(body), {
    status: 429,
    headers: Object.entries(headers),
  });
  expect(await readRateLimit(response)).toMatchObject({ kind: "passing", retryAfterMs });
});
