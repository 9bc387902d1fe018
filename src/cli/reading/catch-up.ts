import type { ResolvedConfig } from "../../config/types.ts";
import { ConfigError } from "../../errors.ts";
import { readPath } from "../../shared/json.ts";
import { UsageError } from "../command.ts";
import { loadConfig } from "../context.ts";
import { formatCount, formatDuration, formatTable } from "../format.ts";
import { type CliIo, print, printError, printJson } from "../io.ts";
import { createGithubHooks, type Delivery, type GithubHooks } from "./github-deliveries.ts";

export interface CatchUpFlags {
  config?: string;
  repo?: string;
  org?: string;
  hookId?: string;
  token?: string;
  api?: string;
  /** In ISO 8601. */
  since: string;
  dryRun: boolean;
  json: boolean;
}

/** Has GitHub send again what did not arrive: events none of whose attempts was answered 2xx. */
export async function catchUpGithub(flags: CatchUpFlags, io: CliIo): Promise<void> {
  const { since } = flags;
  const place = toPlace(flags);
  const { config } = await loadConfig(flags.config, io);
  const github = createGithubHooks({
    api: flags.api ?? (io.env["GITHUB_API_URL"] || "https://api.github.com"),
    token: findToken(flags, config, io),
    place,
    waits: (ms) => printError(io, `GitHub's rate limit: waiting ${formatDuration(ms)}.`),
  });
  const hookId = flags.hookId ?? (await findHook(github, config));
  const missed = await findMissed(github, hookId, since);

  const redelivered: string[] = [];
  const failures: { id: string; message: string }[] = [];
  for (const { id } of flags.dryRun ? [] : missed) {
    try {
      await github.redeliver(hookId, id);
      redelivered.push(id);
    } catch (error) {
      // One event that is too old must not keep back the others.
      if (!(error instanceof ConfigError)) throw error;
      failures.push({ id, message: error.message });
    }
  }
  if (failures.length > 0) io.exitCode = 1;
  if (flags.json) return printJson(io, { ok: failures.length === 0, hookId, since, missed, redelivered, failures });
  report({ missed, redelivered, failures, since, dryRun: flags.dryRun }, io);
}

interface Report {
  missed: Delivery[];
  redelivered: string[];
  failures: { id: string; message: string }[];
  /** In ISO 8601. */
  since: string;
  dryRun: boolean;
}

function report({ missed, redelivered, failures, since, dryRun }: Report, io: CliIo): void {
  if (missed.length === 0) return print(io, `Every event that GitHub sent since ${since} has arrived.`);
  const rows = missed.map(({ deliveredAt, event, action, status, guid }) => [
    deliveredAt,
    action === undefined ? event : `${event}.${action}`,
    status,
    guid,
  ]);
  print(io, ...formatTable(["sent", "event", "answer", "delivery"], rows), "");
  printError(io, ...failures.map(({ id, message }) => `${id}: ${message}`));
  const count = formatCount(missed.length, "event");
  if (dryRun) print(io, `${count} did not arrive. Without --dry-run, GitHub sends them again.`);
  else print(io, `GitHub sends ${redelivered.length} of ${count} again. \`webhooks tail\` shows them.`);
}

/** The latest attempt of each event without one that was answered 2xx, oldest event first. */
async function findMissed(github: GithubHooks, hookId: string, since: string): Promise<Delivery[]> {
  const latest = new Map<string, Delivery>();
  const arrived = new Set<string>();
  for await (const delivery of github.deliveries(hookId)) {
    // Newest first. ISO 8601 times in UTC sort as text.
    if (delivery.deliveredAt < since) break;
    if (delivery.statusCode >= 200 && delivery.statusCode < 300) arrived.add(delivery.guid);
    else if (!latest.has(delivery.guid)) latest.set(delivery.guid, delivery);
  }
  return [...latest.values()].filter(({ guid }) => !arrived.has(guid)).toReversed();
}

/** The only webhook, or the one that posts to this service. */
async function findHook(github: GithubHooks, { gateway: { publicUrl }, hooks }: ResolvedConfig): Promise<string> {
  const all = await github.list();
  const ours = publicUrl === undefined ? all : all.filter(({ url }) => url.startsWith(`${publicUrl}${hooks.path}/`));
  const [hook, other] = ours;
  if (hook && !other) return hook.id;
  const listed = all.map(({ id, url }) => `${id} (${url.replace(/[?#].*/, "")})`).join(", ") || "there is none";
  const which = hook ? "Several webhooks could be this service's" : "No webhook posts to this service";
  throw new ConfigError([{ message: `${which}: name one with --hook-id. GitHub lists: ${listed}.` }]);
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
