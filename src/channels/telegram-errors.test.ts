import { expect, test } from "vitest";
import { toDriverError } from "./telegram-errors.ts";

const { signal } = new AbortController();

test.each([
  [400, "lasting", "Check the recipient, and that the bot is in the chat."],
  [401, "lasting", "Check channels.telegram.token."],
  [403, "lasting", "The recipient has to start the bot, or let it into the chat."],
  [404, "lasting", "Check channels.telegram.token and channels.telegram.baseUrl."],
  [429, "passing", ""],
  [502, "passing", ""],
])("a refusal with %d is %s", (error_code, kind, advice) => {
  const error = Object.assign(new Error("Call failed"), { error_code, description: "Words of Telegram" });
  const message = `Telegram answered ${error_code}: Words of Telegram. ${advice}`.trim();
  expect(toDriverError(error, signal)).toMatchObject({ kind, message, retryAfterMs: undefined });
});

test("a group that became a supergroup is told by its new id", () => {
  const error = Object.assign(new Error("Call failed"), {
    error_code: 400,
    description: "Bad Request: group chat was upgraded to a supergroup chat",
    parameters: { migrate_to_chat_id: -1009876543210 },
  });
  expect(toDriverError(error, signal).message).toMatch(/The chat has a new id: -1009876543210\.$/);
});

test.each([{ error: new SyntaxError("Unexpected <") }, { error_code: undefined, description: undefined }])(
  "an answer that is not Telegram's is passing: %j",
  (fields) => {
    expect(toDriverError(Object.assign(new Error("Call failed"), fields), signal)).toMatchObject({
      kind: "passing",
      message: "Telegram's answer could not be read.",
    });
  },
);
