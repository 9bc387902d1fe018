import { isObject } from "../shared/json.ts";
import { toChannelName } from "../shared/text.ts";
import { type HookRequest, type LogLine, type Resolution, SOURCE_CHANNEL } from "../types.ts";
import type { CompiledMapping } from "./compile.ts";
import { coalesceActions } from "./keys.ts";
import {
  fillDraft,
  type FilledDraft,
  isAllowedRecipient,
  MAX_LENGTHS,
  renderDraft,
  type Terms,
  toAction,
} from "./policy.ts";
import type { Budget, RenderedKey } from "./template/template.ts";
import { type RunTransform, toBase, transformDraft } from "./transform.ts";

/** Everything that is the same for all items of a request. */
export interface Job extends Pick<Terms, "config" | "channels"> {
  mapping: CompiledMapping;
  request: HookRequest;
  run: RunTransform;
  /** Whether the channel message with this id was sent by a delivery within hooks.dedupeWindow. Absent: none was. */
  isEcho?(messageId: string): Promise<boolean>;
  budget: Budget;
  log: LogLine[];
}

/** What one action, or one call of a transform, is made from: the whole request or one item of it. */
export interface Item {
  payload: unknown;
  /** Set under `forEach`. */
  each?: { item: unknown; index: number };
}

/** What one item became. Without actions, it has a reason. */
export interface ResolvedItem extends Pick<Resolution, "actions" | "event" | "reason" | "warnings"> {
  dedupe?: RenderedKey;
}

/** Waits only for a transform or `isEcho`; otherwise the result is no promise. */
export function resolveItem(item: Item, job: Job): ResolvedItem | Promise<ResolvedItem> {
  const { mapping, request, budget, isEcho } = job;
  const input = toInput(item, request);
  // Spreading copies own fields only, `__proto__` included, so nothing is inherited. The named fields win.
  const context = { ...(isObject(item.payload) && item.payload), ...input };
  const event = mapping.filter?.nameEvent(context, budget);
  const skip = (reason: string): ResolvedItem => ({ event, actions: [], reason, warnings: [] });
  const ignored = mapping.filter?.findReason(event, context, budget);
  if (ignored !== undefined) return skip(ignored);
  const render = (): ResolvedItem | Promise<ResolvedItem> => renderItem({ input, context, event }, job);
  const echo = mapping.templates.echo?.renderKey(context, budget);
  if (!isEcho || !echo || echo.incomplete) return render();
  return isEcho(echo.text.trim()).then((found) => (found ? skip("it is the echo of a delivery") : render()));
}

type Input = ReturnType<typeof toInput>;

/** What a template sees beside the payload's own fields, and a transform as its input. */
function toInput({ payload, each }: Item, { headers, query, path, method, receivedAt }: HookRequest) {
  return { payload, headers, query, path, method, now: toTime(receivedAt), ...each };
}

let lastTime = { at: 0, text: "" };

/** Requests come many in a millisecond, and writing it is slow. */
function toTime(at: number): string {
  if (at !== lastTime.at) lastTime = { at, text: new Date(at).toISOString() };
  return lastTime.text;
}

interface Rendering {
  input: Input;
  context: object;
  event: string | undefined;
}

function renderItem(rendering: Rendering, job: Job): ResolvedItem | Promise<ResolvedItem> {
  const { mapping, request, run, budget, log, config } = job;
  const { input, context } = rendering;
  const keys = renderKeys(mapping, context, budget);
  const sessionKey = keys.session?.incomplete ? undefined : keys.session?.text;
  const base = fillDraft({ ...renderDraft(mapping, context, budget), sessionKey }, request.hook);
  if (!mapping.bundle) return finishItem(rendering, job, { keys, base, drafts: [base] });
  const { rawBody } = request;
  const payloadIsBody = request.payloadIsBody && input.payload === request.payload;
  const call = { ...input, payloadIsBody, rawBody, base: toBase(base) };
  const options = { run, bundle: mapping.bundle, call, channelNames: config.channelNames, log };
  return transformDraft(base, options).then((drafts) =>
    finishItem(rendering, job, { keys, base, drafts: drafts.map((draft) => fillDraft(draft, request.hook)) }),
  );
}

function finishItem(
  { context, event }: Rendering,
  job: Job,
  { keys, base, drafts }: { keys: ItemKeys; base: FilledDraft; drafts: FilledDraft[] },
): ResolvedItem {
  const { mapping, request } = job;
  const terms = toTerms(base, job, keys);
  const place = renderPlace(job, context);
  const filled = drafts.map((draft) => toPlace(draft, place));
  const actions = filled.map((draft) => toAction(draft, terms));
  const reason = actions.length > 0 ? undefined : "the transform gave no action";
  const turns = filled.filter(({ kind }) => kind === "agent");
  const warnings = findIncomplete({
    session: turns.some((turn) => turn.sessionKey === undefined) ? keys.session : undefined,
    coalesce: turns.length > 0 ? keys.coalesce : undefined,
    dedupe: request.idempotencyKey === undefined && actions.length > 0 ? keys.dedupe : undefined,
  });
  if (!place && turns.some(({ channel, deliver }) => channel === SOURCE_CHANNEL && !deliver)) warnings.push(NO_PLACE);
  const coalesced = mapping.coalesce ? coalesceActions(actions, mapping.coalesce.windowMs, keys.coalesce) : actions;
  return { event, actions: coalesced, reason, warnings, dedupe: keys.dedupe };
}

const NO_PLACE = "The event names no place for a reply: it will not be delivered.";

/** The keys that a mapping's templates give for one item. */
interface ItemKeys {
  session?: RenderedKey;
  dedupe?: RenderedKey;
  coalesce?: RenderedKey;
}

function renderKeys({ templates, coalesce }: CompiledMapping, context: object, budget: Budget): ItemKeys {
  return {
    session: templates.sessionKey?.renderKey(context, budget),
    dedupe: templates.dedupe?.renderKey(context, budget),
    coalesce: coalesce?.key.renderKey(context, budget),
  };
}

const CONSEQUENCES = {
  session: "sessionKey is not used, so the run has its own session",
  dedupe: "dedupe is not used, so a repeat will not be recognised",
  coalesce: "coalesce.key is not used, so no other request joins the run",
};

/** A sentence for each key that lacks a value. */
function findIncomplete(keys: ItemKeys): string[] {
  return (["session", "dedupe", "coalesce"] as const)
    .filter((kind) => keys[kind]?.incomplete)
    .map((kind) => `The payload lacks a value: ${CONSEQUENCES[kind]}.`);
}

interface Place {
  channel: string;
  to: string;
}

/** Where the event is, if it says so: the first line whose recipient the channel's block allows, else the last line. */
function renderPlace({ mapping: { place }, budget, config, channels }: Job, context: object): Place | undefined {
  const rendered = place?.to.renderKey(context, budget);
  const name = place?.channel.render(context, budget).trim();
  if (!name || !rendered || rendered.incomplete) return undefined;
  const channel = toChannelName(name);
  const lines = rendered.text.split("\n").map((line) => line.trim());
  // A recipient that is too long would refuse an event that its sender cannot change.
  const recipients = lines.filter((line) => line !== "" && line.length <= MAX_LENGTHS.to);
  const to = recipients.find((line) => isAllowedRecipient(channel, line, { config, channels })) ?? recipients.at(-1);
  return to === undefined ? undefined : { channel, to };
}

/** Replaces the channel `source` by the place. Without one, nothing is delivered. */
function toPlace(draft: FilledDraft, place: Place | undefined): FilledDraft {
  if (draft.channel !== SOURCE_CHANNEL || draft.kind === "wake") return draft;
  return place ? { ...draft, ...place, toSource: true } : { ...draft, deliver: false };
}

/** A name or key from a template with placeholders is the request's choice, also if a transform keeps it. */
function toTerms(
  { name, sessionKey, to }: FilledDraft,
  { mapping, request, config, channels }: Job,
  keys: ItemKeys,
): Terms {
  const { allowUnsafeExternalContent, instructions, agent, transform, update } = mapping.source.mapping;
  const { templates, match } = mapping;
  // A blank name becomes the path of the request, which only `match.path` fixes.
  const isOwnName = templates.name?.isStatic && name !== request.hook;
  return {
    config,
    channels,
    allowsUnsafe: allowUnsafeExternalContent ?? false,
    instructions,
    agent,
    trustedName: isOwnName ? name : match.path,
    update,
    isOwnRecipient: (draft) =>
      draft.toSource ? request.credential.startsWith("auth:") : draft.to === to && templates.to?.isStatic !== false,
    isRequestedKey: (key) =>
      key === sessionKey ? templates.sessionKey?.isStatic === false : transform?.sessionKeys !== "trusted",
    ownSession: keys.session?.incomplete,
  };
}
