import type { Command } from "commander";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ReadConfig } from "../../core/config/load.ts";
import { type PresetPlace, requirePreset } from "../../core/config/presets/file.ts";
import { toHook } from "../../core/config/presets/api-access.ts";
import { didYouMean, trimSlashes } from "../../core/shared/text/text.ts";
import type { MappingInput } from "../../core/config/schema/generated.ts";
import { compileSchema } from "../../core/config/schema/validator.ts";
import { ConfigError, messageOf } from "../../core/errors.ts";
import { compileTemplate } from "../../core/mapping/template/template.ts";
import type { EventTimeline } from "../../operator/views.ts";
import type { SignedParts } from "../../core/ports/signature.ts";
import { parseObject, toObject, toText } from "../../core/shared/json.ts";
import { toServiceAddress } from "../../core/shared/system/owner.ts";
import { isRequest } from "../../core/shared/words.ts";
import { toBearer } from "../../core/shared/secret.ts";
import { toTempDir } from "../../core/shared/system/temporary-folder.ts";
import { silentLog, toPrintable } from "../../core/telemetry/log.ts";
import { describeReach } from "./agents.ts";
import { addPair, addServiceOptions, EXIT_CODES, type ServiceFlags, UsageError } from "../command.ts";
import { loadServiceConfig, parseJsonOrText, readInput } from "../context.ts";
import { formatEvent, toExcerpt } from "../format.ts";
import { toCommand } from "../../core/shared/text/command.ts";
import { type CliIo, print, printError, printJson, style } from "../io.ts";
import { BUILT_IN_HOOKS, toScheduleId } from "../../core/types.ts";
import {
  createOperatorClient,
  type OperatorClient,
  parseEvent,
  requireAnswer,
  toUnreachable,
} from "../operator-client.ts";
import { type SentRequest, toFreshRequest } from "../../service/authoring/fresh-request.ts";
import { readRequest, requirePresetSample } from "../../service/authoring/sample.ts";

interface SendFlags extends ServiceFlags {
  sample?: string;
  as?: string;
  secret?: string;
  header: Record<string, string>;
  wait: boolean;
}

export function addSend(program: Command, io: CliIo): void {
  addServiceOptions(
    program
      .command("send")
      .description("Post a file, or a sample of a preset, to a running service, as its sender would."),
  )
    .argument(
      "<hook>",
      "name of the hook: what follows the hooks path in its URL, or schedule/<id> to run a schedule now",
    )
    .argument("[file]", "file with the body; - for standard input")
    .option("--sample <name>", "instead of a file: a sample of the hook's preset, as pull-request-opened")
    .option("--as <scheme>", "sign as this sender does (default: by the hook's auth, else with a hook token)")
    .option("--secret <secret>", "a secret or token instead of the configured one")
    .option("--header <name:value>", "a header of the request; may be repeated", addPair(":"), {})
    .option("--wait", "wait until the event is executed, and show it", false)
    .action((hook: string, file: string | undefined, flags: SendFlags) => send(trimSlashes(hook), file, flags, io));
}

/** Exit code 1 when the service refuses the request, or with `--wait` when the event fails. */
async function send(hook: string, named: string | undefined, flags: SendFlags, io: CliIo): Promise<void> {
  const read = await loadServiceConfig(flags.config, io, /^/);
  const id = toScheduleId(hook);
  const client = flags.wait || id !== undefined ? await createOperatorClient(flags, io) : undefined;
  const response =
    id !== undefined && client
      ? await runSchedule(id, client, { named, flags })
      : await postInput(hook, named, { flags, read, io });
  const text = await response.text();
  const eventId = id === undefined ? response.headers.get("x-request-id") : findEventId(text);
  const event = client && flags.wait && response.ok && eventId ? await waitForEvent(eventId, client) : undefined;

  const { status } = response;
  if (!response.ok || event?.status === "failed") io.exitCode = EXIT_CODES.failed;
  // A handshake may be answered with a text.
  const answer = parseJsonOrText(text);
  if (flags.json) return printJson(io, { status, eventId: eventId ?? undefined, body: answer, event });
  print(io, style(response.ok ? "green" : "red", `${status} ${response.statusText}`));
  if (text !== "") print(io, toPrintable(JSON.stringify(answer, undefined, 2)));
  const guess = status === 404 ? didYouMean(hook, listHooks(read)) : "";
  if (guess !== "") printError(io, `There is no hook "${hook}"${guess}`);
  if (event) print(io, "", ...formatEvent(event, { maxPayloadLines: 0 }));
  else if (response.ok && eventId) print(io, ...describeNext(eventId, toObject(answer)), ...describeAgents(hook, read));
}

/** Posts the named file, or a sample, as the sender of the hook. */
async function postInput(
  hook: string,
  named: string | undefined,
  { flags, read, io }: { flags: SendFlags; read: Loaded; io: CliIo },
): Promise<Response> {
  const file = named === undefined || flags.sample !== undefined ? findSample(hook, named, { flags, read }) : named;
  const input = await readInput(file, io);
  const { query, headers } = readSampleRequest(file, io);
  const type = typeOf(file, { ...headers, ...flags.header });
  const fresh = toFreshRequest({ headers, body: input, type }, findMappings(hook, read));
  return post({ hook, query, flags, ...fresh }, read);
}

/** A schedule has no sender: the service makes its event, with the present as its time. */
async function runSchedule(
  id: string,
  client: OperatorClient,
  { named, flags: { sample, as, secret, header } }: { named: string | undefined; flags: SendFlags },
): Promise<Response> {
  const isGiven = [named, sample, as, secret].some((one) => one !== undefined) || Object.keys(header).length > 0;
  if (isGiven) throw new UsageError("The service makes the request of a schedule: name only its hook.");
  return client.send("POST", `/api/mappings/${encodeURIComponent(id)}/run`);
}

function findEventId(text: string): string | null {
  const { eventId } = parseObject(text);
  return typeof eventId === "string" ? eventId : null;
}

/** The event, and what it starts, as far as the answer says so. */
function describeNext(eventId: string, answer: Record<string, unknown>): string[] {
  const { sessionKey, mode, actions } = answer;
  const all = Array.isArray(actions) ? actions.map(toObject) : [{ sessionKey, mode }];
  const starts = all.flatMap((action) => {
    if (action["sessionKey"] !== undefined)
      return [`a turn in the session ${toExcerpt(toText(action["sessionKey"]), 80)}`];
    return action["mode"] === undefined ? [] : [`a wake (${toText(action["mode"])})`];
  });
  const more = starts.length > MAX_STARTS ? [`${starts.length - MAX_STARTS} more`] : [];
  const what = starts.length === 0 ? "" : ` starts ${[...starts.slice(0, MAX_STARTS), ...more].join(", ")}`;
  return [`Event ${eventId}${what}.`, style("dim", toCommand("events show", eventId))];
}

const MAX_STARTS = 3;

/** For each agent that the hook may start and that is a program: what reaches it. */
function describeAgents(hook: string, read: Loaded): string[] {
  const { agents, hooks } = read.config;
  const turns = hook === "agent" ? [{ grants: hooks.agent.grants }] : findMappings(hook, read);
  return describeReach(turns, agents).map((line) => style("dim", line));
}

function findSample(
  hook: string,
  file: string | undefined,
  { flags, read }: { flags: SendFlags; read: Loaded },
): string {
  if (flags.sample === undefined)
    throw new UsageError("Name a file with the body, or a sample of the hook's preset with --sample.");
  if (file !== undefined) throw new UsageError("A request has one body: name either a file or --sample.");
  return `${requirePresetSample(findPreset(hook, read), flags.sample).file}.json`;
}

/** The preset of the hook in the configuration, else the one of its name. */
function findPreset(hook: string, { config, drivers }: Loaded): PresetPlace {
  return (
    config.hooks.presets.find((use) => toHook(use) === hook) ??
    requirePreset(hook, { baseDir: config.baseDir, vendors: drivers.vendors })
  );
}

export function listHooks({ config }: Pick<ReadConfig, "config">): string[] {
  const paths = config.hooks.mappings.flatMap(({ mapping }) => trimSlashes(mapping.match?.path ?? "") || []);
  return [...new Set([...paths, ...BUILT_IN_HOOKS])];
}

type Loaded = Pick<ReadConfig, "config" | "drivers">;

function findMappings(hook: string, { config }: Loaded): MappingInput[] {
  return config.hooks.mappings.flatMap(({ mapping }) =>
    trimSlashes(mapping.match?.path ?? hook) === hook ? [mapping] : [],
  );
}

/** Headers and query from the `<name>.request.json` of a sample. */
function readSampleRequest(file: string, { cwd }: CliIo): Pick<Outgoing, "headers" | "query"> {
  if (!file.endsWith(".json")) return { headers: {}, query: {} };
  const { headers, query } = readRequest(path.resolve(cwd, file.replace(/\.json$/, ".request.json")));
  return { headers: toTexts(headers), query: toTexts(query) };
}

function toTexts(values: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(toObject(values)).map(([name, value]) => [name, String(value)]));
}

interface Outgoing extends SentRequest {
  hook: string;
  query: Record<string, string>;
  flags: SendFlags;
}

async function post(outgoing: Outgoing, read: Loaded): Promise<Response> {
  const { hook, body, type, flags } = outgoing;
  const { gateway, hooks } = read.config;
  const address = flags.url ?? toServiceAddress(gateway);
  const query = new URLSearchParams(outgoing.query).toString();
  const target = `${hooks.path}/${hook}`;
  const url = `${gateway.publicUrl ?? address}${target}${query === "" ? "" : `?${query}`}`;
  const signed = await sign(outgoing, url, read);
  const { search } = new URL(signed.url ?? url);
  const headers = new Headers();
  for (const given of [outgoing.headers, { "content-type": type }, signed.headers, flags.header]) {
    for (const [name, value] of Object.entries(given)) headers.set(name, value);
  }
  const sent = new Uint8Array(signed.body ?? body);
  return fetch(address + target + search, { method: "POST", headers, body: sent, redirect: "manual" }).catch(
    (error: unknown) => {
      throw toUnreachable(address, error);
    },
  );
}

/** Signs like the sender of the hook, else sends the first token that counts for the hook. */
async function sign({ hook, body, type, flags }: Outgoing, url: string, read: Loaded): Promise<SignedParts> {
  const { config, drivers } = read;
  const known = config.hooks.mappings.flatMap(({ mapping: { match, auth } }) =>
    auth && trimSlashes(match?.path ?? "") === hook ? [auth] : [],
  );
  const auth = known.find(({ scheme }) => flags.as === undefined || scheme === flags.as);
  const scheme = flags.as ?? auth?.scheme;
  if (scheme === undefined) return { headers: { authorization: toBearer(flags.secret ?? findToken(hook, read)) } };

  const { scheme: _, ...configured } = auth ?? {};
  const options = { ...configured, ...(flags.secret !== undefined && { secret: flags.secret }) };
  const definition = drivers.providers[scheme];
  if (!definition) throw problem(`There is no scheme "${scheme}"${didYouMean(scheme, Object.keys(drivers.providers))}`);
  const [wrong] = compileSchema(definition.schema)(options);
  if (wrong) throw problem(`${scheme}: ${wrong.message}. Set --secret, or auth in a mapping of "${hook}".`);
  try {
    const verifier = await definition.create(options, {
      name: scheme,
      baseDir: config.baseDir,
      tempDir: toTempDir(config.store),
      stateDir: config.store.path,
      log: silentLog,
      compileTemplate,
    });
    const own = "url" in options && typeof options.url === "string" ? options.url : url;
    const signed = await verifier.sign?.({ method: "POST", url: own, body, contentType: type, now: Date.now() });
    if (signed) return signed;
  } catch (error) {
    throw problem(`${scheme}: ${messageOf(error)}`);
  }
  throw problem(`A request of ${scheme} cannot be signed here: only the sender has its key.`);
}

function findToken(hook: string, { config }: Loaded): string {
  const token = config.hooks.tokens.find(({ hooks }) => hooks === undefined || hooks.includes(hook));
  if (token?.secrets[0] !== undefined) return token.secrets[0];
  throw problem(`No token of the configuration counts for "${hook}": set --secret or --as.`);
}

const TYPES: Record<string, string> = {
  ".xml": "application/xml",
  ".eml": "message/rfc822",
  ".txt": "text/plain",
  ".ndjson": "application/x-ndjson",
  ".jsonl": "application/jsonl",
  ".form": "application/x-www-form-urlencoded",
};

/** By the header that is sent, else by the file's extension. */
function typeOf(file: string, header: Record<string, string>): string {
  const [, given] = Object.entries(header).find(([name]) => name.toLowerCase() === "content-type") ?? [];
  return given ?? TYPES[path.extname(file).toLowerCase()] ?? "application/json";
}

const POLL_MS = 200;

/** undefined: the request left no event. */
async function waitForEvent(id: string, client: OperatorClient): Promise<EventTimeline | undefined> {
  for (;;) {
    const response = await client.send("GET", `/api/events/${encodeURIComponent(id)}`);
    if (response.status === 404) return undefined;
    const event: EventTimeline = parseEvent(await (await requireAnswer(response)).text());
    if (!isRequest(event.status, "unfinished")) return event;
    await delay(POLL_MS);
  }
}

function problem(message: string): ConfigError {
  return new ConfigError([{ message }]);
}
