import { DriverError } from "../core/errors.ts";
import type { HookAccess, HookApi } from "./kit/hook-api.ts";
import { findVendor } from "./webhooks.ts";
import { toGithubPath } from "./github/webhooks.ts";
import { openGithubDeliveries } from "./github/missed.ts";
import { openGitlabEvents } from "./gitlab/missed.ts";
import type { MissedEvents } from "../core/ports/missed.ts";
import { openStripeEvents, type StripeOptions } from "./stripe/missed.ts";

/** Opens what a preset's sender knows of events that did not arrive. Rejects with a `DriverError`, also if it knows nothing. */
export async function openMissedEvents(
  preset: string,
  access: HookAccess,
  options: StripeOptions,
): Promise<MissedEvents> {
  const vendor = findVendor(preset);
  if (preset === "stripe") return openStripeEvents(options, access);
  if (!vendor || (preset !== "github" && preset !== "gitlab")) {
    throw new DriverError(`The sender of ${preset} does not say what did not arrive.`, { retryable: false });
  }
  const id = await requireHook(vendor.connect(access), vendor.service, options.url);
  if (preset === "gitlab") return openGitlabEvents(id, access);
  const { baseUrl = "https://api.github.com", place = "", token, signal } = access;
  return openGithubDeliveries(`${baseUrl.replace(/\/$/, "")}/${toGithubPath(place)}/hooks/${id}`, token, signal);
}

async function requireHook(hooks: HookApi, service: string, url: string): Promise<string> {
  const [id] = await hooks.find(url);
  if (id !== undefined) return id;
  throw new DriverError(`${service} has no webhook that posts to ${url}.`, { retryable: false });
}
