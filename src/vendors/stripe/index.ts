import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { defineSignature } from "../signatures/verifier.ts";
import { TIMED_LIST } from "../signatures/row.ts";
import { openMissed } from "./missed.ts";
import { webhooks } from "./webhooks.ts";

export const stripe: Vendor = defineVendor({
  service: "Stripe",
  signatures: {
    stripe: defineSignature({
      docs: "https://docs.stripe.com/webhooks/signature",
      header: "stripe-signature",
      ...TIMED_LIST,
      deliveryId: "{{payload.id}}",
    }),
  },
  webhooks,
  openMissed,
});
