import { parseObject } from "../../core/shared/json.ts";
import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { defineSignature } from "../signatures/verifier.ts";
import { echo, toShortText } from "../signatures/handshake.ts";
import { slack as channel } from "./channel.ts";
import { toAppLink } from "./manifest.ts";
import { readMessage } from "./message.ts";
import { readPress } from "./press.ts";

export const slack: Vendor = defineVendor({
  service: "Slack",
  signatures: {
    slack: defineSignature({
      docs: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
      header: "x-slack-signature",
      prefix: "v0=",
      timestamp: { header: "x-slack-request-timestamp", unit: "s" },
      signed: ["v0:", "timestamp", ":", "body"],
      deliveryId: "{{payload.event_id}}",
      handshake: {
        about: "`url_verification`, `ssl_check`",
        answer({ body }) {
          if (new URLSearchParams(toShortText(body)).get("ssl_check") === "1") return { status: 200 };
          const { type, challenge } = parseObject(toShortText(body));
          return type === "url_verification" ? echo(challenge) : undefined;
        },
      },
      senderTimeoutMs: 3000,
    }),
  },
  channels: { slack: channel },
  describeSetup: (url, events) => ["Create the Slack app with its address and events at:", toAppLink(url, events)],
  readMessage,
  readPress,
});
