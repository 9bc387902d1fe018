import { listEvents, toHook } from "../../config/presets/api-access.ts";
import type { PresetUse, ResolvedConfig } from "../../config/types.ts";
import { messageOf } from "../../errors.ts";
import { showHookId } from "../../registration/subscriptions.ts";
import { findVendor } from "../../registration/vendors.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { connectStored, requireUrl } from "../setup/sender.ts";
import { type CheckResult, note, ok, problem } from "./doctor-machine.ts";

const ANSWER_MS = 5000;

/** Whether the webhooks of presets exist at their senders, lead here and work. All are asked side by side. */
export async function checkSenders(config: ResolvedConfig): Promise<CheckResult[]> {
  return (await Promise.all(config.hooks.presets.map((use) => checkSender(use, config)))).flat();
}

async function checkSender(use: PresetUse, config: ResolvedConfig): Promise<CheckResult[]> {
  const vendor = findVendor(use.name);
  if (!vendor) return [];
  const name = `preset ${toHook(use)}`;
  const hooks = connectStored(vendor, use, config, ANSWER_MS);
  if (!hooks) return [note(name, `not checked: no token of ${vendor.service}'s API is stored`)];
  if (config.gateway.publicUrl === undefined) return [note(name, "not checked: gateway.publicUrl is not set")];
  try {
    const url = requireUrl(use, config);
    const [id, ...others] = await hooks.find(url);
    const register = `webhooks presets enable ${use.name} --register`;
    if (id === undefined) return [problem(name, `${vendor.service} has no webhook that posts to ${url}`, register)];
    const { isEnabled, notes } = await hooks.health(id, listEvents(use));
    const found = notes.map((text) => `; ${toPrintable(text)}`).join("");
    const twice = others.map((other) =>
      problem(name, `${vendor.service} has another webhook (${showHookId(other)}) that posts to ${url}`, register),
    );
    if (!isEnabled) {
      const next = `find out what it refused with \`webhooks rejections\`, then ${register}`;
      return [problem(name, `${vendor.service} has disabled the webhook ${showHookId(id)}${found}`, next), ...twice];
    }
    if (notes.length > 0) return [note(name, `${vendor.service} posts to ${url}${found}`), ...twice];
    return [ok(name, `${vendor.service} posts to ${url}`), ...twice];
  } catch (error) {
    // A sender that is away is no fault of this machine.
    return [note(name, `not checked: ${toPrintable(messageOf(error))}`)];
  }
}
