import { setTimeout as sleep } from "node:timers/promises";
import { toHeaders } from "../../channels/comments/github-api.ts";
import type { ResolvedConfig } from "../../config/types.ts";
import { ConfigError } from "../../errors.ts";
import { isObject, readPath, toText } from "../../shared/json.ts";
import { parseRetryAfter } from "../../shared/network.ts";
import { EXIT_CODES, UsageError } from "../command.ts";
import { causeOf, loadConfig } from "../context.ts";
import { formatCount, formatDuration, formatTable } from "../format.ts";
import { type CliIo, print, printError, printJson } from "../io.ts";

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
  const api = flags.api ?? (io.env["GITHUB_API_URL"] || "https://api.github.com");
  const base = `${api.replace(/\/+$/, "")}/${place}/hooks`;
  const github = createGithubHooks(base, findToken(flags, config, io), io);
  const hookId = flags.hookId ?? (await findHook(github, config));
  const missed = await findMissed(github, hookId, since);

  const redelivered: string[] = [];
  const failures: Report["failures"] = [];
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
  if (failures.length > 0) io.exitCode = EXIT_CODES.failed;
  if (flags.json) return printJson(io, { ok: failures.length === 0, hookId, since, missed, redelivered, failures });
  report({ missed, redelivered, failures }, flags, io);
}

interface Report {
  missed: Delivery[];
  redelivered: string[];
  failures: { id: string; message: string }[];
}

function report({ missed, redelivered, failures }: Report, { since, dryRun }: CatchUpFlags, io: CliIo): void {
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

/** An attempt of GitHub to deliver an event, as its API lists it. */
interface Delivery {
  /** As written: it can be larger than the integers that a number holds. */
  id: string;
  /** The same for all attempts of an event: `X-GitHub-Delivery`. */
  guid: string;
  deliveredAt: string;
  /** 0: no answer. */
  statusCode: number;
  /** What GitHub says of the answer: `OK`, `timed out`. */
  status: string;
  event: string;
  action?: string;
}

const ANSWER_MS = 20_000;
/** A longer wait is left to the person. */
const MAX_WAIT_MS = 60_000;
const PAGE = 100;

type GithubHooks = ReturnType<typeof createGithubHooks>;

/**
 * GitHub's API for the webhooks of a repository or an organization. `base`: the address of its list.
 * https://docs.github.com/en/rest/repos/webhooks, https://docs.github.com/en/rest/orgs/webhooks
 */
function createGithubHooks(base: string, token: string, io: CliIo) {
  return {
    async list(): Promise<{ id: string; url: string }[]> {
      const { items } = await call("GET", `${base}?per_page=${PAGE}`);
      return items.map((hook) => ({ id: toText(hook["id"]), url: toText(readPath(hook, ["config", "url"])) }));
    },
    /** Newest first. */
    async *deliveries(hookId: string): AsyncGenerator<Delivery> {
      for (let cursor: string | undefined = ""; cursor !== undefined;) {
        const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
        const page = await call("GET", `${base}/${hookId}/deliveries?per_page=${PAGE}${query}`);
        yield* page.items.map(toDelivery);
        cursor = page.next === cursor ? undefined : page.next;
      }
    },
    async redeliver(hookId: string, deliveryId: string): Promise<void> {
      await call("POST", `${base}/${hookId}/deliveries/${deliveryId}/attempts`);
    },
  };

  async function call(method: string, url: string): Promise<{ items: Record<string, unknown>[]; next?: string }> {
    for (;;) {
      const response = await send(method, url);
      const text = await response.text();
      if (response.ok) {
        const items: unknown = text === "" ? [] : parse(text);
        return { items: Array.isArray(items) ? items.filter(isObject) : [], next: nextCursor(response) };
      }
      const waitMs = limitedFor(response);
      if (waitMs === undefined) throw refused(`GitHub answered ${response.status}: ${explain(response, text)}`);
      if (waitMs > MAX_WAIT_MS) {
        const until = new Date(Date.now() + waitMs).toISOString();
        throw refused(
          `GitHub's rate limit is used up until ${until}. Run the command again then: it leaves out what has arrived.`,
        );
      }
      printError(io, `GitHub's rate limit: waiting ${formatDuration(waitMs)}.`);
      await sleep(waitMs);
    }
  }

  async function send(method: string, url: string): Promise<Response> {
    const signal = AbortSignal.timeout(ANSWER_MS);
    return fetch(url, { method, headers: toHeaders(token), signal, redirect: "error" }).catch((error: unknown) => {
      throw refused(`GitHub does not answer at ${new URL(url).origin}: ${causeOf(error)}`);
    });
  }
}

function refused(message: string): ConfigError {
  return new ConfigError([{ message }]);
}

/** Integers as they are written. */
function parse(text: string): unknown {
  const keepIds = (key: string, value: unknown, context?: { source?: string }): unknown =>
    key === "id" && typeof value === "number" ? context?.source : value;
  return JSON.parse(text, keepIds);
}

function toDelivery(item: Record<string, unknown>): Delivery {
  return {
    id: toText(item["id"]),
    guid: toText(item["guid"]),
    deliveredAt: toText(item["delivered_at"]),
    statusCode: Number(item["status_code"] ?? 0),
    status: toText(item["status"]),
    event: toText(item["event"]),
    action: toText(item["action"]) || undefined,
  };
}

/** Only the cursor is taken from the answer, so that the token is sent nowhere else. */
function nextCursor({ headers }: Response): string | undefined {
  const next = /<([^>]+)>;\s*rel="next"/.exec(headers.get("link") ?? "")?.[1];
  return (next && URL.parse(next)?.searchParams.get("cursor")) || undefined;
}

/** Milliseconds to wait; undefined if the refusal has another reason. */
function limitedFor({ status, headers }: Response): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  const asked = parseRetryAfter(headers.get("retry-after"));
  if (asked !== undefined) return asked;
  if (headers.get("x-ratelimit-remaining") !== "0") return undefined;
  return Math.max(1000, Number(headers.get("x-ratelimit-reset")) * 1000 - Date.now());
}

const REASONS: Record<number, string> = {
  401: "the token is not valid",
  403: "the token may not read this webhook: it needs read and write access to webhooks (classic: admin:repo_hook, admin:org_hook)",
  404: "there is no such repository, organization or webhook, or the token may not see it",
  422: "GitHub has no longer the payload of this delivery",
};

function explain({ status }: Response, text: string): string {
  return REASONS[status] ?? text.slice(0, 200);
}
