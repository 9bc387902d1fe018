import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { defineSignature } from "../signatures/verifier.ts";
import { linear as comments } from "./comments.ts";
import { webhooks } from "./webhooks.ts";

export const linear: Vendor = defineVendor({
  service: "Linear",
  signatures: {
    linear: defineSignature({
      docs: "https://linear.app/developers/webhooks",
      header: "linear-signature",
      timestamp: { field: "webhookTimestamp", unit: "ms" },
      tolerance: "1m",
      deliveryId: "{{headers.linear-delivery}}",
      accept: 200,
      senderTimeoutMs: 5000,
    }),
  },
  channels: { linear: comments },
  webhooks,
});
