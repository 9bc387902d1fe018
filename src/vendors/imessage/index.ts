import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { imessage as channel } from "./channel.ts";

export const imessage: Vendor = defineVendor({
  service: "iMessage",
  channels: { imessage: channel },
});
