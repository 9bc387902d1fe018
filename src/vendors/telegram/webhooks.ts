import { isObject, toText } from "../../core/shared/json.ts";
import { openTelegram } from "./client.ts";
import { toUnreadable } from "../kit/http.ts";
import type { HookApi, VendorWebhooks } from "../../core/ports/vendor.ts";

/** A bot has one webhook. https://core.telegram.org/bots/api#setwebhook */
export const webhooks: VendorWebhooks = {
  secretBy: "us",
  tokenVariables: ["TELEGRAM_TOKEN", "TELEGRAM_BOT_TOKEN"],
  tokenNeeds: "nothing more: it is the bot's own, from @BotFather",
  connect(access) {
    const call = openTelegram(access);
    const read = async (): Promise<Record<string, unknown>> => {
      const { result } = (await call("POST", "/getWebhookInfo", {})).body;
      if (!isObject(result)) throw toUnreadable("Telegram");
      return result;
    };
    const set: HookApi["update"] = async (_id, { url, secret, events }) =>
      void (await call("POST", "/setWebhook", {
        url,
        secret_token: secret,
        allowed_updates: [...new Set([...events, PRESSES])],
      }));
    return {
      find: async (url) => ((await read())["url"] === url ? ["bot"] : []),
      async findOther(url) {
        const other = toText((await read())["url"]);
        return other === url ? undefined : other || undefined;
      },
      async create(wanted) {
        await set("bot", wanted);
        return { id: "bot" };
      },
      update: set,
      remove: async () => void (await call("POST", "/deleteWebhook", {})),
      async health() {
        const { last_error_message: message, last_error_date: at, pending_update_count: pending } = await read();
        const notes: string[] = [];
        if (typeof message === "string") notes.push(`the last error, at ${toIso(at)}: ${message}`);
        if (Number(pending) > 0) notes.push(`${Number(pending)} updates wait for delivery`);
        return { isEnabled: true, notes };
      },
    };
  },
};

/** Buttons below questions need them, whatever events are wanted. */
const PRESSES = "callback_query";

function toIso(seconds: unknown): string {
  return new Date(Number(seconds ?? 0) * 1000).toISOString();
}
