import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { webhooks } from "./webhooks.ts";

export const azuredevops: Vendor = defineVendor({
  service: "Azure DevOps",
  webhooks,
});
