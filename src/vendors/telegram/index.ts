import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { defineSignature } from "../signatures/verifier.ts";
import { SHOWN } from "../signatures/row.ts";
import { telegram as channel } from "./channel.ts";
import { webhooks } from "./webhooks.ts";
import { readMessage } from "./message.ts";
import { readPress } from "./press.ts";

export const telegram: Vendor = defineVendor({
  service: "Telegram",
  signatures: {
    telegram: defineSignature({
      ...SHOWN,
      docs: "https://core.telegram.org/bots/api#setwebhook",
      header: "x-telegram-bot-api-secret-token",
      deliveryId: "{{payload.update_id}}",
    }),
  },
  channels: { telegram: channel },
  webhooks,
  readMessage,
  readPress,
});
