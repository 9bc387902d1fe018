import { toChannelName } from "../../shared/channel-names.ts";
import { isObject } from "../../shared/json.ts";
import { toSubject } from "../../shared/text/text.ts";
import { DAY_MS } from "../../shared/time.ts";
import type { TransformBundle } from "../../transforms/runner.ts";
import { type HookAction, type Publication, type Resolution, withoutAllow } from "../../types.ts";
import type { CompiledMapping } from "../compile.ts";
import { findContinued } from "./continued.ts";
import { type Draft, renderGiven, renderWakeMode, toBase, toDraft } from "../draft.ts";
import { type Continued, finishItem, type ItemKeys, type Rendered } from "./item-actions.ts";
import { findJoined } from "./join-change.ts";
import { type Item, type MappingRun, toContext, toNow } from "./mapping-run.ts";
import { findParticipation } from "./participants.ts";
import { describeElsewhere } from "../policy/bounds.ts";
import { findElsewhere, renderPlace, toWriteRules } from "../policy/event-place.ts";
import { renderGrants } from "../policy/grants.ts";
import { createToChannel } from "../policy/openclaw.ts";
import { renderPublication } from "../publish.ts";
import type { Start } from "./start.ts";
import type { Budget, RenderedKey } from "../template/template.ts";
import { transformDraft } from "../transform.ts";

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

/** Why the repository that an event chooses is not where `place` of its mapping says. */
function findForeignWorkspace({ mapping, budget }: MappingRun, context: object): string | undefined {
  const { workspace, bounds } = mapping;
  if (!workspace?.isChosen || !bounds) return undefined;
  const repository = workspace.render(context, budget)?.repository;
  return repository === undefined || bounds.covers(repository) ? undefined : describeElsewhere(repository);
}

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

async function transformItem(
  { payload, each }: Item,
  { base }: Rendered,
  { event, bundle, mappingRun }: { event: string | undefined; bundle: TransformBundle; mappingRun: MappingRun },
): Promise<Draft[]> {
  const { mapping, request, run, log, state, config } = mappingRun;
  const { headers, query, path, method, rawBody, hook } = request;
  const payloadIsBody = request.payloadIsBody && payload === request.payload;
  const seen = { payload, headers, query, path, method, hook, now: toNow(request), ...each };
  const call = { ...seen, mapping: mapping.source.id, event, payloadIsBody, rawBody, base: toBase(base) };
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

function renderKeys({ templates, coalesce }: CompiledMapping, context: object, budget: Budget): ItemKeys {
  return {
    session: templates.sessionKey?.renderKey(context, budget),
    dedupe: templates.dedupe?.renderKey(context, budget),
    coalesce: coalesce?.key.renderKey(context, budget),
  };
}
