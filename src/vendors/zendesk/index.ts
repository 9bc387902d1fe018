import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { webhooks } from "./webhooks.ts";

export const zendesk: Vendor = defineVendor({
  service: "Zendesk",
  webhooks,
});
