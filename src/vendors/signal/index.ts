import { defineVendor, type Vendor } from "../../core/ports/vendor.ts";
import { signalCli as channel } from "./channel.ts";

export const signal: Vendor = defineVendor({
  service: "Signal",
  channels: { signal: channel },
});
