import { didYouMean } from "../config/did-you-mean.ts";
import type { ResolvedConfig } from "../config/types.ts";
import { HookError } from "../errors.ts";
import type { MappingIndex } from "../mapping/mapping-index.ts";
import type { Program } from "../program/build.ts";
import { createId } from "../shared/id.ts";
import { isObject } from "../shared/json.ts";
import { SECRET_HEADERS, TOKEN_PARAMETER } from "../shared/secret.ts";
import { BUILT_IN_HOOKS, type HookAction, type HookRequest, type LogLine, type Resolution } from "../types.ts";

/** What would have come of a request, with everything that its caller would not be told. */
export type Trial = { log: LogLine[]; durationMs: number } & (
  | { ok: true; mapping?: string; actions: HookAction[]; warnings: string[] }
  | { ok: false; mapping?: string; status: number; code: string; error: string; detail?: string }
);

/**
 * Runs one payload through mapping and transform; nothing is recorded or dispatched.
 * `trial` is the body of POST /api/try: `{ hook, payload, headers?, query? }`.
 */
export async function runTrial(
  trial: unknown,
  { config, mappings }: Pick<Program, "config" | "mappings">,
  resolve: (request: HookRequest) => Promise<Resolution>,
): Promise<Trial> {
  const request = toTrialRequest(trial, config.hooks.path);
  const startedAt = performance.now();
  const took = (): number => Math.round((performance.now() - startedAt) * 100) / 100;
  try {
    const { mapping, actions, log, ...resolution } = await resolve(request);
    const warnings = [...resolution.warnings, ...warnOfChannels(actions, config)];
    return { ok: true, mapping, actions, warnings, log, durationMs: took() };
  } catch (error) {
    if (!(error instanceof HookError)) throw error;
    const { status, code, message } = error;
    const { log = [], mapping, ...detail } = toDetail(error);
    const explanation = status === 404 ? explainUnknownHook(request.hook, mappings) : toText(detail);
    const reason = { status, code, error: message, detail: explanation };
    return { ok: false, mapping, ...reason, log, durationMs: took() };
  }
}

/**
 * The request that a trial stands for: what would have come if `payload` had been posted to `hook`.
 */
function toTrialRequest(trial: unknown, hooksPath: string): HookRequest {
  const { hook: name, payload, headers, query } = requireObject(trial, "the body");
  const hook = typeof name === "string" ? name.replace(/^\/+|\/+$/g, "") : "";
  if (hook === "") throw new HookError("invalid_payload", { message: "hook must be the name of a hook." });
  if (payload === undefined) throw new HookError("invalid_payload", { message: "payload is missing." });
  return {
    id: createId(),
    hook,
    method: "POST",
    path: `${hooksPath}/${hook}`,
    query: withoutToken(toStrings(query, "query")),
    headers: toVisible({ "content-type": "application/json", ...toStrings(headers, "headers") }),
    rawBody: Buffer.from(JSON.stringify(payload)),
    payload,
    payloadIsBody: true,
    contentType: "application/json",
    receivedAt: Date.now(),
    credential: "trial",
    client: "127.0.0.1",
  };
}

/** What the mapping step hangs on its errors for the operator: a transform's error, its TypeScript stack, its log. */
interface ErrorDetail {
  message?: string;
  trace?: string;
  mapping?: string;
  log?: LogLine[];
}

function toDetail({ detail }: HookError): ErrorDetail {
  return typeof detail === "object" && detail !== null ? detail : {};
}

/** A trace begins with the message. */
function toText({ message, trace }: ErrorDetail): string | undefined {
  return trace || message;
}

function toStrings(value: unknown, what: string): Record<string, string> {
  const given = value === undefined ? {} : requireObject(value, what);
  if (isStrings(given)) return given;
  throw new HookError("invalid_payload", { message: `${what} must hold strings.` });
}

function isStrings(values: Record<string, unknown>): values is Record<string, string> {
  return Object.values(values).every((value) => typeof value === "string");
}

/** As the ingress hands them on: in lower case, and without the caller's secrets. */
function toVisible(headers: Record<string, string>): Record<string, string> {
  const lowerCased = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(lowerCased.filter(([name]) => !SECRET_HEADERS.has(name)));
}

function withoutToken({ [TOKEN_PARAMETER]: _token, ...query }: Record<string, string>): Record<string, string> {
  return query;
}

function requireObject(value: unknown, what: string): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new HookError("invalid_payload", { message: `${what} must be an object.` });
}

/** Why nothing takes a request to this hook, in words that only the operator may hear: they name the hooks that exist. */
function explainUnknownHook(hook: string, { mappings, names }: MappingIndex): string {
  if (names(hook)) {
    return `No mapping for "${hook}" takes this request: compare its headers and payload with their match.`;
  }
  const known = new Set([...BUILT_IN_HOOKS, ...mappings.flatMap(({ match }) => match.path ?? [])]);
  return `There is no hook "${hook}"${didYouMean(hook, [...known])}`;
}

/** A sentence for each channel that actions name, by a template or a transform, and that cannot deliver. */
function warnOfChannels(actions: HookAction[], config: ResolvedConfig): string[] {
  const able = new Set(["last", ...Object.keys(config.channels)]);
  const named = actions.flatMap((action) => (action.kind === "agent" && action.deliver ? [action.channel] : []));
  return [...new Set(named)]
    .filter((channel) => !able.has(channel))
    .map(
      (channel) =>
        `the channel "${channel}" is not configured, and the delivery would fail: add a channels.${channel} block`,
    );
}
