import { setTimeout as sleep } from "node:timers/promises";
import { callGithub, openGithubDeliveries } from "../../vendors/github/missed.ts";
import type { FoundMissed, MissedEvent } from "../../core/ports/missed.ts";
import { findRegistration, requirePreset } from "../../core/config/presets/file.ts";
import type { ResolvedConfig } from "../../core/config/types.ts";
import { ConfigError, DriverError } from "../../core/errors.ts";
import { findVendor } from "../../vendors/webhooks.ts";
import { readPath, toText } from "../../core/shared/json.ts";
import { EXIT_CODES, type ServiceFlags, UsageError } from "../command.ts";
import { loadConfig } from "../context.ts";
import { formatCount, formatDuration, formatTable } from "../format.ts";
import { type CliIo, print, printError, printJson, printWarnings } from "../io.ts";
import { createOperatorClient } from "../operator-client.ts";

export interface CatchUpFlags extends ServiceFlags {
  path?: string;
  repo?: string;
  org?: string;
  hookId?: string;
  token?: string;
  api?: string;
  /** In ISO 8601. */
  since: string;
  dryRun: boolean;
}

/** Gets from a sender what did not arrive: events none of whose attempts was answered 2xx. */
export async function catchUp(name: string, flags: CatchUpFlags, io: CliIo): Promise<void> {
  const preset = requirePreset(name);
  if (!findRegistration(preset)?.catchUp) {
    throw new UsageError(`The sender of ${preset} does not say what did not arrive. GitHub, GitLab and Stripe do.`);
  }
  const isByHand = [flags.repo, flags.org, flags.hookId, flags.token, flags.api].some((flag) => flag !== undefined);
  if (preset === "github" && isByHand) return catchUpGithub(flags, io);
  if (isByHand) throw new UsageError("--repo, --org, --hook-id, --token and --api are for GitHub.");
  return askService(preset, flags, io);
}

/** The running service does it, with the token and the place of the preset. */
async function askService(preset: string, flags: CatchUpFlags, io: CliIo): Promise<void> {
  const { since, dryRun, path: hook } = flags;
  const client = await createOperatorClient(flags, io);
  const found = await client.call("POST /api/events/catch-up", {}, { preset, hook, since, dryRun });
  if (flags.json) return printJson(io, { ok: true, since, ...found });
  showMissed(found, [findVendor(preset)?.service ?? preset, since], io);
  const count = formatCount(found.missed.length, "event");
  if (dryRun && found.missed.length > 0) print(io, `${count} did not arrive. Without --dry-run, they are got again.`);
  else if (found.missed.length > 0) print(io, `The service gets ${count} again. \`webhooks tail\` shows them.`);
}

/** With a webhook that is named here, no service needs to run. */
async function catchUpGithub(flags: CatchUpFlags, io: CliIo): Promise<void> {
  const { since } = flags;
  const place = toPlace(flags);
  const { config } = await loadConfig(flags.config, io);
  const api = flags.api ?? (io.env["GITHUB_API_URL"] || "https://api.github.com");
  const base = `${api.replace(/\/+$/, "")}/${place}/hooks`;
  const token = findToken(flags, config, io);
  const hookId = flags.hookId ?? (await findHook(base, token, config, io));
  const deliveries = openGithubDeliveries(`${base}/${hookId}`, token);
  const found = await withRateLimit(() => deliveries.find(Date.parse(since)), io);

  const redelivered: string[] = [];
  const failures: { id: string; message: string }[] = [];
  for (const event of flags.dryRun ? [] : found.missed) {
    try {
      await withRateLimit(() => deliveries.repeat(event), io);
      redelivered.push(event.id);
    } catch (error) {
      // One event that is too old must not keep back the others.
      if (!(error instanceof ConfigError)) throw error;
      failures.push({ id: event.id, message: error.message });
    }
  }
  if (failures.length > 0) io.exitCode = EXIT_CODES.failed;
  if (flags.json) {
    return printJson(io, { ok: failures.length === 0, hookId, since, missed: found.missed, redelivered, failures });
  }
  showMissed(found, ["GitHub", since], io);
  printError(io, ...failures.map(({ id, message }) => `${id}: ${message}`));
  const count = formatCount(found.missed.length, "event");
  if (found.missed.length === 0) return;
  if (flags.dryRun) print(io, `${count} did not arrive. Without --dry-run, GitHub sends them again.`);
  else print(io, `GitHub sends ${redelivered.length} of ${count} again. \`webhooks tail\` shows them.`);
}

function showMissed({ missed, notes }: FoundMissed, [sender, since]: [string, string], io: CliIo): void {
  printWarnings(io, notes);
  if (missed.length === 0) return print(io, `Every event that ${sender} sent since ${since} has arrived.`);
  print(io, ...formatTable(missed.map(toRow)), "");
}

function toRow({ at = "", event, status = "", guid = "" }: MissedEvent): Record<string, string> {
  return { sent: at, event, answer: status, delivery: guid };
}

/** The only webhook, or the one that posts to this service. */
async function findHook(base: string, token: string, config: ResolvedConfig, io: CliIo): Promise<string> {
  const { gateway, hooks } = config;
  const { items } = await withRateLimit(() => callGithub("GET", `${base}?per_page=100`, { token }), io);
  const all = items.map((hook) => ({ id: toText(hook["id"]), url: toText(readPath(hook, ["config", "url"])) }));
  const ours = all.filter(
    ({ url }) => gateway.publicUrl === undefined || url.startsWith(`${gateway.publicUrl}${hooks.path}/`),
  );
  const [hook, other] = ours;
  if (hook && !other) return hook.id;
  const listed = all.map(({ id, url }) => `${id} (${url.replace(/[?#].*/, "")})`).join(", ") || "there is none";
  const which = hook ? "Several webhooks could be this service's" : "No webhook posts to this service";
  throw refused(`${which}: name one with --hook-id. GitHub lists: ${listed}.`);
}

function findToken({ token }: CatchUpFlags, { channels }: ResolvedConfig, { env }: CliIo): string {
  const ofChannel = readPath(channels, ["github", "token"]);
  const found = token ?? (env["GITHUB_TOKEN"] || env["GH_TOKEN"] || ofChannel);
  if (typeof found === "string" && found !== "") return found;
  throw new UsageError(
    "GitHub needs a token: set GITHUB_TOKEN, or say --token. It needs read and write access to webhooks.",
  );
}

function toPlace({ repo, org }: CatchUpFlags): string {
  if (repo !== undefined && org === undefined && /^\w[\w.-]*\/\w[\w.-]*$/.test(repo)) return `repos/${repo}`;
  if (org !== undefined && repo === undefined && /^\w[\w.-]*$/.test(org)) return `orgs/${org}`;
  throw new UsageError("Name either --repo <owner>/<name> or --org <name>.");
}

/** A longer wait is left to the person. */
const MAX_WAIT_MS = 60_000;

/** Waits out a short rate limit. A refusal is a `ConfigError`, for the person. */
async function withRateLimit<Result>(work: () => Promise<Result>, io: CliIo): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      const { retryAfterMs, message } = error;
      if (retryAfterMs === undefined) throw refused(message);
      if (retryAfterMs > MAX_WAIT_MS) {
        const until = new Date(Date.now() + retryAfterMs).toISOString();
        throw refused(
          `GitHub's rate limit is used up until ${until}. Run the command again then: it leaves out what has arrived.`,
        );
      }
      printError(io, `GitHub's rate limit: waiting ${formatDuration(retryAfterMs)}.`);
      await sleep(retryAfterMs);
    }
  }
}

function refused(message: string): ConfigError {
  return new ConfigError([{ message }]);
}
