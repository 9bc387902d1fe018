import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { jira as comments } from "./comments.ts";
import { webhooks } from "./webhooks.ts";

export const jira: Vendor = defineVendor({
  service: "Jira",
  channels: { jira: comments },
  webhooks,
});
