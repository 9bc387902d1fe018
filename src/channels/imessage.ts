import { isObject } from "../config/is-object.ts";
import { DriverError } from "../errors.ts";
import { toDriverError } from "./imessage-errors.ts";
import { callImsg } from "./imsg.ts";
import type { ChannelDriver, OutgoingMessage } from "./port.ts";

export interface ImessageOptions {
  /** A program and its arguments that speak the JSON-RPC of `imsg rpc`: `["ssh", "mac", "imsg", "rpc"]`. */
  command?: string[];
}

/**
 * Sends through `imsg`, which drives Messages on a Mac. It knows no idempotency key: a message whose answer was lost may
 * come twice.
 */
export function createImessage({ command = ["imsg", "rpc"] }: ImessageOptions): ChannelDriver {
  return {
    name: "imessage",
    limit: 4000,
    checkRecipient: (to) => void toTarget(to),
    send: (message, signal) => send(command, message, signal),
  };
}

type Target = { to: string } | { chat_id: number } | { chat_guid: string } | { chat_identifier: string };

const NUMBER_OR_ADDRESS = /^(?:\+?\d{3,15}|[^\s@:]+@[^\s@:]+\.[^\s@:]+)$/;
const CHAT = /^(chat_guid|chat_identifier):(\S+)$/;
const CHAT_ID = /^chat_id:([1-9]\d{0,14})$/;

function toTarget(to: string): Target {
  if (NUMBER_OR_ADDRESS.test(to)) return { to };
  const chatId = CHAT_ID.exec(to)?.[1];
  if (chatId) return { chat_id: Number(chatId) };
  const [, kind, id] = CHAT.exec(to) ?? [];
  if (id) return kind === "chat_guid" ? { chat_guid: id } : { chat_identifier: id };
  throw new DriverError(
    "lasting",
    "Expected a number such as +15551234567, an e-mail address, or a chat as `imsg chats --json` shows it: chat_id:42, chat_guid:… or chat_identifier:….",
  );
}

async function send(
  command: string[],
  { to, text, idempotencyKey }: OutgoingMessage,
  signal: AbortSignal,
): Promise<{ messageId?: string }> {
  const params = { ...toTarget(to), text };
  const answer = await callImsg(command, { id: idempotencyKey, method: "send", params }, signal);
  const { error, result } = answer;
  if (!isObject(result)) throw toDriverError(error);
  return { messageId: typeof result["guid"] === "string" ? result["guid"] : undefined };
}
