import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { defineSignature } from "../signatures/verifier.ts";
import { pagerduty as comments } from "./comments.ts";
import { webhooks } from "./webhooks.ts";

export const pagerduty: Vendor = defineVendor({
  service: "PagerDuty",
  signatures: {
    pagerduty: defineSignature({
      replay: "unique",
      docs: "https://developer.pagerduty.com/docs/verifying-webhook-signatures",
      header: "x-pagerduty-signature",
      list: { separator: ",", signature: "v1" },
      deliveryId: "{{payload.event.id}}",
    }),
  },
  channels: { pagerduty: comments },
  webhooks,
});
