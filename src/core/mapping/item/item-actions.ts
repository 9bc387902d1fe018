import { hash } from "node:crypto";
import type { Workspace } from "../../ports/agent.ts";
import { readOwn } from "../../shared/json.ts";
import type { Resolution } from "../../types.ts";
import { describeUnnamed, renderFiles } from "./attachments.ts";
import { renderContext } from "../context.ts";
import type { findContinued } from "./continued.ts";
import type { Draft } from "../draft.ts";
import { type Joined, joinSession } from "./join-change.ts";
import type { MappingRun } from "./mapping-run.ts";
import { isBelow } from "../policy/bounds.ts";
import {
  findPlaceRefusal,
  findPullPlace,
  isPublicPlace,
  isReadElsewhere,
  isSource,
  renderPlace,
  toPlaces,
  toTargets,
} from "../policy/event-place.ts";
import { coalesceActions } from "../policy/keys.ts";
import { applyOpenClaw } from "../policy/openclaw.ts";
import { findUnusedModels, type Terms, toAction } from "../policy/policy.ts";
import { routeOriginOf } from "../policy/targets.ts";
import type { RenderedKey } from "../template/template.ts";

/** The result of the mapping's settings and templates. */
export interface Rendered {
  keys: ItemKeys;
  base: Draft;
  /** About grants that were left out. */
  grantWarnings?: string[];
  modeWarning?: string;
  /** The author has not taken part in the conversation of the session key. */
  isApart: boolean;
  continued: Continued;
}

/** The keys that a mapping's templates give for one item. */
export interface ItemKeys {
  session?: RenderedKey;
  dedupe?: RenderedKey;
  coalesce?: RenderedKey;
}

/** The session that the event continues, whatever key its mapping gives. */
export type Continued = Awaited<ReturnType<typeof findContinued>>;

/** The actions of an item from its drafts: targets, policy, context, files, workspace, and the run that they join. */
export function finishItem(
  drafts: Draft[],
  context: object,
  { keys, base, grantWarnings = [], modeWarning, isApart, continued, joined }: Rendered & { joined?: Joined },
  mappingRun: MappingRun,
): Pick<Resolution, "actions" | "reason" | "warnings"> {
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
    const { forEach } = mapping;
    const isWhole = !forEach || (forEach.lists.length === 1 && !forEach.narrows);
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

const APART =
  "The sender has not taken part in this conversation before: this is a new session, without what was said there.";

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
