import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { zendesk as comments } from "./comments.ts";
import { webhooks } from "./webhooks.ts";

export const zendesk: Vendor = defineVendor({
  service: "Zendesk",
  channels: { zendesk: comments },
  webhooks,
});
