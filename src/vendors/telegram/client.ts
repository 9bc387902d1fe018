import type { ApiAccess } from "../../core/ports/vendor.ts";
import { toObject } from "../../core/shared/json.ts";
import { openCalls } from "../kit/hook-calls.ts";
import { type Api, type Call, createApi, type HttpAnswer, type OpenApi, type Refusal, toRefusal } from "../kit/http.ts";
import type { DriverError } from "../../core/errors.ts";

/** The next step for the operator after a refusal, by the task that the token is for and the status. */
const ADVICE = {
  write: new Map([
    [400, "Check the recipient, and that the bot is in the chat."],
    [401, "Check channels.telegram.token."],
    [403, "The recipient has to start the bot, or let it into the chat."],
    [404, "Check channels.telegram.token and channels.telegram.baseUrl."],
  ]),
  webhooks: new Map([
    [401, "Check the bot's token."],
    [403, "Check the bot's token."],
    [404, "Check the bot's token."],
  ]),
} satisfies Record<string, ReadonlyMap<number, string>>;

type Task = keyof typeof ADVICE;

/** The API for messages. */
export function createTelegramApi({ token, baseUrl }: { token: string; baseUrl?: string }): OpenApi {
  return createApi(toApi("write", token, baseUrl));
}

/** The API for the webhook of the bot. */
export function openTelegram(access: ApiAccess): Call {
  return openCalls(access, toApi("webhooks", access.token, access.baseUrl));
}

/** The error for an answer to a message. */
export function toMessageError(answer: Pick<HttpAnswer, "body" | "headers" | "status">): DriverError {
  return toRefusal("Telegram", answer, explain(answer, "write"));
}

/** The token is in the path, which no message shows. */
function toApi(task: Task, token: string, baseUrl = "https://api.telegram.org"): Api {
  return {
    service: "Telegram",
    baseUrl,
    root: `/bot${token}`,
    headers: () => ({}),
    explain: (answer) => explain(answer, task),
  };
}

/** Words a refusal: a limit, which ends, or what the task needs. https://core.telegram.org/bots/api#making-requests */
function explain({ status, body }: Pick<HttpAnswer, "body" | "status">, task: Task): Refusal {
  const { retry_after: seconds, migrate_to_chat_id: newId } = toObject(body["parameters"]);
  const reason = body["description"];
  if (typeof seconds === "number") return { reason, retryable: true, retryAfterMs: seconds * 1000 };
  // A group that became a supergroup.
  const hasMoved = typeof newId === "number";
  return { reason, advice: hasMoved ? `The chat has a new id: ${newId}.` : ADVICE[task].get(status) };
}
