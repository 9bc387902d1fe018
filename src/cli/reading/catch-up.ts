import type { FoundMissed, MissedEvent } from "../../core/ports/missed.ts";
import { findRegistration, requirePreset } from "../../core/config/presets/file.ts";
import { findVendor } from "../../core/ports/vendor.ts";
import { searchPresets } from "../context.ts";
import { type ServiceFlags, UsageError } from "../command.ts";
import { formatCount, formatTable } from "../format.ts";
import { type CliIo, print, printJson, printWarnings } from "../io.ts";
import { createOperatorClient } from "../operator-client.ts";

export interface CatchUpFlags extends ServiceFlags {
  path?: string;
  /** In ISO 8601. */
  since: string;
  dryRun: boolean;
}

/**
 * Gets from a sender what did not arrive: events none of whose attempts was answered 2xx. The running service does it, with
 * the token and the place of the preset.
 */
export async function catchUp(name: string, flags: CatchUpFlags, io: CliIo): Promise<void> {
  const search = await searchPresets(flags, io);
  const { name: preset, folder } = requirePreset(name, search);
  if (!findRegistration(folder)?.catchUp) {
    throw new UsageError(`The sender of ${preset} does not say what did not arrive. GitHub, GitLab and Stripe do.`);
  }
  const { since, dryRun, path: hook } = flags;
  const client = await createOperatorClient(flags, io);
  const found = await client.call("POST /api/events/catch-up", {}, { preset, hook, since, dryRun });
  if (flags.json) return printJson(io, { ok: true, since, ...found });
  showMissed(found, [findVendor(search.vendors, preset)?.service ?? preset, since], io);
  const count = formatCount(found.missed.length, "event");
  if (dryRun && found.missed.length > 0) print(io, `${count} did not arrive. Without --dry-run, they are got again.`);
  else if (found.missed.length > 0) print(io, `The service gets ${count} again. \`npx hookline tail\` shows them.`);
}

function showMissed({ missed, notes }: FoundMissed, [sender, since]: [string, string], io: CliIo): void {
  printWarnings(io, notes);
  if (missed.length === 0) return print(io, `Every event that ${sender} sent since ${since} has arrived.`);
  print(io, ...formatTable(missed.map(toRow)), "");
}

function toRow({ at = "", event, status = "", guid = "" }: MissedEvent): Record<string, string> {
  return { sent: at, event, answer: status, delivery: guid };
}
