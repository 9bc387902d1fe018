import type { Workspace } from "../ports/agent.ts";
import { hash } from "node:crypto";
import { exactPayload } from "../shared/exact-json.ts";
import { isObject, readOwn } from "../shared/json.ts";
import { toChannelName } from "../shared/channel-names.ts";
import { toSubject } from "../shared/text/text.ts";
import { DAY_MS } from "../shared/time.ts";
import { type HookAction, type HookRequest, type Publication, type Resolution, withoutAllow } from "../types.ts";
import type { Start } from "./start.ts";
import type { CompiledMapping } from "./compile.ts";
import type { ToolSets } from "../ports/open-tool-sets.ts";
import { renderContext } from "./context.ts";
import { describeUnnamed, renderFiles } from "./attachments.ts";
import { type FindSent, findContinued } from "./continued.ts";
import { applyOpenClaw, createToChannel } from "./policy/openclaw.ts";
import { type Changes, findJoined, type Joined, joinSession } from "./join-change.ts";
import { renderGrants } from "./policy/grants.ts";
import { coalesceActions } from "./policy/keys.ts";
import type { SessionScope } from "./policy/session-keys.ts";
import type { IsOwn } from "./match.ts";
import { type Draft, renderGiven, renderWakeMode, toBase, toDraft } from "./draft.ts";
import { findUnusedModels, type Terms, toAction } from "./policy/policy.ts";
import { renderPublication } from "./publish.ts";
import { describeElsewhere, isBelow } from "./policy/bounds.ts";
import { routeOriginOf } from "./policy/targets.ts";
import { findParticipation } from "./participants.ts";
import type { RequestState } from "./state.ts";
import type { Budget, RenderedKey } from "./template/template.ts";
import type { TransformBundle } from "../transforms/runner.ts";
import { transformDraft, type TransformDraftOptions } from "./transform.ts";
import {
  renderPlace,
  isPublicPlace,
  isReadElsewhere,
  toWriteRules,
  findElsewhere,
  findPlaceRefusal,
  toTargets,
  isSource,
  toPlaces,
  type TargetOptions,
  findPullPlace,
} from "./policy/event-place.ts";

/** Everything that is the same for all items of a request. */
export interface MappingRun extends TargetOptions, Pick<TransformDraftOptions, "run" | "state" | "log"> {
  /** Whether the channel message with this id was sent by a delivery within hooks.dedupeWindow. Absent: none was. */
  isEcho?(messageId: string, channel: string | undefined): Promise<boolean>;
  /** Whether a delivery to this recipient, as a thread, was sent. Absent: none was. */
  hasSpoken?(channel: string, to: string): Promise<boolean>;
  /** Absent: no event continues a session by what it answers. */
  findSent?: FindSent;
  /** Absent: nothing is kept of changes. */
  changes?: Changes;
  /** Absent: no comment counts as the service's own. */
  isOwn?: IsOwn;
  /** Keeps who takes part in the sessions of a mapping with `participants`. */
  people?: RequestState;
  /** Absent: arguments of `context` are not compared with the schemas of their calls. */
  tools?: Pick<ToolSets, "find">;
  /** The items without what `hooks.redact` names, for subscribers. */
  listPublished(): Item[];
  /** The sessions that the mapping leads to. undefined: any. */
  sessions?: SessionScope;
}

/** The source of one action, or of one call of a transform: the whole request or one item of it. */
export interface Item {
  payload: unknown;
  /** Set under `forEach`. */
  each?: { item: unknown; index: number };
}

/** The result of one item. Without actions, it has a reason. */
export interface ResolvedItem extends Pick<
  Resolution,
  "actions" | "event" | "subject" | "reason" | "leftOutBy" | "warnings"
> {
  publication?: Publication;
  dedupe?: RenderedKey;
}

export async function resolveItem(item: Item, mappingRun: MappingRun): Promise<ResolvedItem> {
  const { mapping, request, budget, isEcho, isOwn } = mappingRun;
  const context = toContext(item, request);
  budget.item = item.each?.index ?? 0;
  // First: nothing of an event from elsewhere counts, not even its keys.
  const elsewhere = findElsewhere(mappingRun, context);
  if (elsewhere !== undefined) return { actions: [], reason: elsewhere, leftOutBy: "place", warnings: [] };
  const event = mapping.filter?.nameEvent(context, budget);
  const { templates } = mapping;
  const subject = toSubject(templates.subject?.render(context, budget));
  const skip = (reason: string): ResolvedItem => ({ event, subject, actions: [], reason, warnings: [] });
  // Without an action nothing starts.
  const start = mapping.source.mapping.action === "none" ? undefined : mapping.findStart?.(context, budget);
  const ignored = mapping.filter?.findReason(event, context, budget, { isOwn, isNamed: start?.isNamed });
  if (ignored !== undefined) return skip(ignored);
  const echo = templates.echo?.renderKey(context, budget);
  if (isEcho && echo && !echo.incomplete) {
    const name = toChannelName(mapping.place?.channel.render(context, budget).trim() ?? "");
    // Without a known place, the message may be of any channel.
    const place = Object.hasOwn(mappingRun.config.channels, name) ? name : undefined;
    if (await isEcho(echo.text.trim(), place)) return skip("it is the echo of a delivery");
  }
  // A replay is the operator's word.
  const isReplay = request.replayOf !== undefined;
  if (!isReplay && start?.refusal !== undefined) return { ...skip(start.refusal), leftOutBy: "from" };
  const joined = await findJoined(mappingRun, context, mappingRun.changes);
  if (joined && "reason" in joined) return skip(joined.reason);
  const foreign = joined ? undefined : findForeignWorkspace(mappingRun, context);
  if (foreign !== undefined) return { ...skip(foreign), leftOutBy: "place" };
  const continued = await findContinued(context, { ...mappingRun, start });
  const { mention } = mapping;
  if (!isReplay && mention && !joined && continued.sessionKey === undefined) {
    const isForAgent = mention.mentions(context, budget) || (await hasSpokenAt(mappingRun, context));
    if (!isForAgent) return skip(mention.reason);
  }
  const rendered = await renderItem(context, mappingRun, continued);
  const drafts = mapping.bundle
    ? await transformItem(item, rendered, { event, bundle: mapping.bundle, mappingRun })
    : [rendered.base];
  const { actions, reason, warnings } = finishItem(drafts, context, { ...rendered, joined }, mappingRun);
  if (start) for (const action of actions) setStart(action, start);
  const publication = actions.length > 0 ? publish(item, event, mappingRun) : undefined;
  return { event, subject, actions, reason, warnings, publication, dedupe: rendered.keys.dedupe };
}

/** Whether the agent has spoken in the thread of the event. */
async function hasSpokenAt(mappingRun: MappingRun, context: object): Promise<boolean> {
  const place = renderPlace(mappingRun, context);
  return (place && (await mappingRun.hasSpoken?.(place.channel, place.to))) ?? false;
}

/** A stranger's turn asks a person before it changes something, and never approves. */
function setStart(action: HookAction, { author, isStranger }: Start): void {
  action.author = author;
  if (!isStranger || action.kind !== "agent") return;
  action.stranger = true;
  action.workspace = undefined;
  action.grants = action.grants && withoutAllow(action.grants);
  if (action.review === "approve") action.review = "request-changes";
}

/** A template's context: the fields of the payload, and those of the request, which win. */
export function toContext({ payload, each }: Item, request: HookRequest): object {
  const { headers, query, path, method } = request;
  return {
    // Only own fields are copied, `__proto__` included, so nothing is inherited.
    ...(isObject(payload) && payload),
    payload,
    headers,
    query,
    path,
    method,
    now: toNow(request),
    ...each,
  };
}

function toNow({ receivedAt }: HookRequest): string {
  return new Date(receivedAt).toISOString();
}

/** A template's context for a whole request. */
export function toRequestContext(request: HookRequest): object {
  return toContext({ payload: exactPayload(request) }, request);
}

/** The result of the mapping's settings and templates. */
interface Rendered {
  keys: ItemKeys;
  base: Draft;
  /** About grants that were left out. */
  grantWarnings?: string[];
  modeWarning?: string;
  /** The author has not taken part in the conversation of the session key. */
  isApart: boolean;
  continued: Continued;
}

/** Why the repository that an event chooses is not where `place` of its mapping says. */
function findForeignWorkspace({ mapping, budget }: MappingRun, context: object): string | undefined {
  const { workspace, bounds } = mapping;
  if (!workspace?.isChosen || !bounds) return undefined;
  const repository = workspace.render(context, budget)?.repository;
  return repository === undefined || bounds.covers(repository) ? undefined : describeElsewhere(repository);
}

/** The session that the event continues, whatever key its mapping gives. */
type Continued = Awaited<ReturnType<typeof findContinued>>;

async function renderItem(context: object, mappingRun: MappingRun, continued: Continued): Promise<Rendered> {
  const { mapping, request, budget } = mappingRun;
  const keys = renderKeys(mapping, context, budget);
  const key = keys.session?.incomplete ? undefined : keys.session?.text;
  const { sessionKey, isApart } =
    continued.sessionKey === undefined
      ? await findSession(key, context, mappingRun)
      : { sessionKey: continued.sessionKey, isApart: false };
  const granted =
    mapping.grants && renderGrants(mapping.grants, context, { budget, writes: toWriteRules(mappingRun, context) });
  const { mode, warning: modeWarning } = renderWakeMode(mapping, context, budget);
  const given = { ...renderGiven(mapping, context, budget), mode, sessionKey, grants: granted?.grants };
  const base = toDraft(given, request.hook);
  return { keys, base, grantWarnings: granted?.warnings, modeWarning, isApart, continued };
}

/** With `participants`, the session in which the author takes part. */
async function findSession(
  key: string | undefined,
  context: object,
  { mapping, request, budget, people, config }: MappingRun,
): Promise<{ sessionKey: string | undefined; isApart: boolean }> {
  const rendered = mapping.templates.participants?.render(context, budget);
  if (key === undefined || rendered === undefined || !people) return { sessionKey: key, isApart: false };
  const ttlMs = Math.max(MIN_REMEMBERED_MS, 4 * config.session.idleAfterMs);
  return findParticipation({ key, rendered, eventId: `${request.id}.${budget.item}`, ttlMs }, people);
}

/** A run may wait for a long time before it becomes a turn of its session. */
const MIN_REMEMBERED_MS = 90 * DAY_MS;

const APART =
  "The sender has not taken part in this conversation before: this is a new session, without what was said there.";

async function transformItem(
  { payload, each }: Item,
  { base }: Rendered,
  { event, bundle, mappingRun }: { event: string | undefined; bundle: TransformBundle; mappingRun: MappingRun },
): Promise<Draft[]> {
  const { mapping, request, run, log, state, config } = mappingRun;
  const { headers, query, path, method, rawBody, hook } = request;
  const payloadIsBody = request.payloadIsBody && payload === request.payload;
  const seen = { payload, headers, query, path, method, now: toNow(request), ...each };
  const call = { ...seen, hook, mapping: mapping.source.id, event, payloadIsBody, rawBody, base: toBase(base) };
  const { channelNames } = config;
  return transformDraft(base, {
    run,
    bundle,
    call,
    state,
    channelNames,
    toChannel: createToChannel(config),
    log,
  });
}

function finishItem(
  drafts: Draft[],
  context: object,
  { keys, base, grantWarnings = [], modeWarning, isApart, continued, joined }: Rendered & { joined?: Joined },
  mappingRun: MappingRun,
): Pick<ResolvedItem, "actions" | "reason" | "warnings"> {
  const { mapping, request, config } = mappingRun;
  const terms = { ...toTerms(base, mappingRun, keys), continues: continued.sessionKey };
  const rendered = renderPlace(mappingRun, context) ?? (joined && findPullPlace(joined.change, mappingRun, context));
  const refusal = rendered && findPlaceRefusal(rendered, mappingRun);
  const place = refusal === undefined ? rendered : undefined;
  const applied = drafts.map((draft) => applyOpenClaw(draft, config));
  const wanted = applied.map(({ draft }) =>
    draft.kind === "agent" ? { ...draft, targets: toTargets(draft, base, mappingRun) } : draft,
  );
  const filled = wanted.map((draft) => toPlaces(draft, place));
  const actions = filled.map((draft) => toAction(draft, terms));
  const reason = actions.length > 0 ? undefined : "the transform gave no action";
  const turns = filled.filter(({ kind }) => kind === "agent");
  const warnings = findIncomplete({
    session: turns.some((turn) => turn.sessionKey === undefined) && !terms.continues ? keys.session : undefined,
    coalesce: turns.length > 0 ? keys.coalesce : undefined,
    dedupe: request.idempotencyKey === undefined && actions.length > 0 ? keys.dedupe : undefined,
  });
  if (isApart) {
    for (const [index, { sessionKey }] of filled.entries()) {
      const action = actions[index];
      if (action?.kind === "agent" && sessionKey === base.sessionKey) action.message += `\n\n(${APART})`;
    }
    if (turns.length > 0) warnings.push(APART);
  }
  if (!place) warnings.push(...findUndelivered(wanted, refusal));
  if (continued.warning !== undefined && turns.length > 0) warnings.push(continued.warning);
  if (continued.sessionKey !== undefined && rendered && !isPublicPlace(rendered, config)) {
    // Others who can read replies of the session cannot see this place.
    for (const action of actions) if (action.kind === "agent") action.sources = [`${rendered.channel} ${rendered.to}`];
  }
  if (modeWarning !== undefined && actions.length > 0) warnings.push(modeWarning);
  if (turns.some(({ grants }) => grants)) warnings.push(...grantWarnings);
  for (const one of applied) warnings.push(...one.warnings);
  warnings.push(...findUnusedModels(actions, config));
  const isPublic = rendered !== undefined && isPublicPlace(rendered, config);
  if (mapping.context && turns.length > 0) {
    const read = renderContext(mapping.context, {
      context,
      isPublic,
      isElsewhere: (call, args) => isReadElsewhere(mappingRun, context, { call, arguments: args }),
      ...mappingRun,
    });
    warnings.push(...read.warnings);
    for (const action of actions) if (action.kind === "agent") action.context = read.context;
  }
  if (mapping.files && turns.length > 0) {
    const payload = readOwn(context, "payload");
    const isWhole = mapping.forEach === undefined;
    const files = renderFiles(mapping.files, { context, payload, isWhole, place: rendered, isPublic, ...mappingRun });
    for (const action of actions) {
      if (action.kind !== "agent" || files.length === 0) continue;
      action.files = files;
      action.message += describeUnnamed(files, action.message);
    }
  }
  const url = mapping.place?.url?.render(context, mappingRun.budget);
  const serviceHost = url && toHost(url);
  for (const action of actions) if (action.kind === "agent" && serviceHost) action.serviceHost = serviceHost;
  const { budget } = mappingRun;
  const workspace = joined ? undefined : mapping.workspace?.render(context, budget);
  if (mapping.workspace && !joined && !workspace && turns.length > 0)
    warnings.push("The event names no repository for the workspace, so the agent has none.");
  for (const [index, action] of actions.entries()) {
    if (action.kind !== "agent") continue;
    if (joined) actions[index] = joinSession(action, joined, { ...mappingRun, context, url, isPublic });
    // The place of a read is another one, and says nothing about the repository.
    else if (workspace)
      action.workspace = {
        ...workspace,
        ...(url && { url }),
        ...(isOfPlace(workspace, rendered) && isPublic && { isPublic }),
      };
  }
  const coalesced = mapping.coalesce
    ? coalesceActions(actions, mapping.coalesce.windowMs, ofSession(keys.coalesce, continued))
    : actions;
  return { actions: coalesced, reason, warnings };
}

/** Events that continue different sessions never join one run. */
function ofSession(key: RenderedKey | undefined, { sessionKey }: Continued): RenderedKey | undefined {
  const isKey = key !== undefined && sessionKey !== undefined && key.text.trim() !== "";
  return isKey ? { ...key, text: `${key.text.trim()} ${hash("sha256", sessionKey)}` } : key;
}

function isOfPlace({ repository }: Workspace, place: { to: string } | undefined): boolean {
  return place !== undefined && (place.to === repository || isBelow(place.to, repository));
}

/** The warning for a reply to the event's place, if the event names none, or one that is refused. */
function findUndelivered(drafts: Draft[], refusal: string | undefined): string[] {
  const replies = drafts.filter(({ kind, deliver, targets }) => kind === "agent" && deliver && targets?.some(isSource));
  if (replies.length === 0) return [];
  const there = replies.every(({ targets }) => targets?.every(isSource)) ? "" : " there";
  return [
    refusal === undefined
      ? `The event names no place for a reply: it will not be delivered${there}.`
      : `The reply will not be delivered${there}: ${refusal}`,
  ];
}

/** Headers and query are for the service alone. */
function publish(
  item: Item,
  event: string | undefined,
  { mapping, request, budget, listPublished }: MappingRun,
): Publication | undefined {
  if (!mapping.publish) return undefined;
  const { payload, each } = listPublished()[item.each?.index ?? 0] ?? { payload: undefined };
  const { method } = request;
  const context = { ...(isObject(payload) && payload), payload, method, now: toNow(request), ...each };
  const source = { hook: request.hook, event, payload: each ? each.item : payload, context };
  return renderPublication(mapping.publish, source, budget);
}

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
  dedupe: "dedupe is not used, so a repeat will not be recognized",
  coalesce: "coalesce.key is not used, so no other request joins the run",
};

/** A sentence for each key that lacks a value. */
function findIncomplete(keys: ItemKeys): string[] {
  return (["session", "dedupe", "coalesce"] as const)
    .filter((kind) => keys[kind]?.incomplete)
    .map((kind) => `The payload lacks a value: ${CONSEQUENCES[kind]}.`);
}

/** The host of the event's own service, whose links are no way out. */
function toHost(rendered: string): string | undefined {
  const url = rendered.trim();
  return URL.canParse(url) ? new URL(url).host || undefined : undefined;
}

/** A name or key from a template with placeholders is the request's choice, also if a transform keeps it. */
function toTerms(
  { name, sessionKey }: Draft,
  { mapping, request, config, channels, sessions }: MappingRun,
  keys: ItemKeys,
): Terms {
  const { source } = mapping;
  const { allowUnsafeExternalContent: allowsUnsafe = false, instructions, review, sessionPrefix } = source.mapping;
  const { templates, match, stored } = mapping;
  // A blank name becomes the path of the request, which only `match.path` fixes.
  const isOwnName = templates.name?.isStatic && name !== request.hook;
  return {
    config,
    channels,
    allowsUnsafe,
    instructions,
    stored,
    review: review === true ? "comment" : review,
    trustedName: isOwnName ? name : match.path,
    routeBy: routeOriginOf,
    isRequestedKey: (key) =>
      key === sessionKey
        ? templates.sessionKey?.isStatic === false && source.hasOwnKey !== true
        : sessionPrefix === undefined,
    isWrittenKey: (key) => key === sessionKey && templates.sessionKey?.isStatic === true,
    sessions,
    ownSession: keys.session?.incomplete,
  };
}
