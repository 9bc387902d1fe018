import type { Budget } from "../template/template.ts";
import type { CompiledMapping } from "../compile.ts";
import { SOURCE_CHANNEL, toChannelName } from "../../shared/channel-names.ts";
import { toText } from "../../shared/json.ts";
import { blankToUndefined } from "../../shared/text/text.ts";
import { ANY_CREDENTIAL, type ContextCall, type HookRequest, isSender, type KeptChange } from "../../types.ts";
import { createToChannel } from "./openclaw.ts";
import type { Draft } from "../draft.ts";
import type { WriteRules } from "./grants.ts";
import { findUndeliverable, isAllowedRecipient, MAX_LENGTHS, type Terms } from "./policy.ts";
import { describeElsewhere, isBelow } from "./bounds.ts";
import type { TargetDraft } from "./targets.ts";

/** The part of a mapping and a request that decides where replies go. */
export interface TargetOptions extends Pick<Terms, "config" | "channels"> {
  mapping: CompiledMapping;
  request: HookRequest;
  budget: Budget;
}

/** The place of an event, which `channel: "source"` means. */
interface EventPlace extends Pick<TargetDraft, "channel" | "references" | "subject" | "commit" | "isPrivate"> {
  to: string;
}

const MAX_REFERENCES = 50;

/** The ids of a rendered text. If there are too many, the first one and the last ones stay: they say where a mail belongs. */
function toReferences(rendered = ""): string[] | undefined {
  const [first, ...rest] = rendered.split(/\s+/).filter((id) => id !== "");
  return first === undefined ? undefined : [first, ...rest.slice(1 - MAX_REFERENCES)];
}

/** Why the event is not where `place` of its mapping says, also if its recipient lacks a value; undefined: it is there. */
export function findElsewhere({ mapping, budget }: TargetOptions, context: object): string | undefined {
  const { bounds, place } = mapping;
  if (!bounds) return undefined;
  const lines = bounds.toLines(place?.to.render(context, budget) ?? "");
  if (lines.some(bounds.covers)) return undefined;
  return describeElsewhere(lines.find((line) => line !== "") ?? "", mapping.source.mapping.source?.below);
}

/**
 * Where the event is, if it says so: the first line whose recipient the channel's block allows and is not the account itself,
 * else the last line. Lines that `place` of the mapping does not cover are left out.
 */
export function renderPlace(
  { mapping: { place, bounds }, budget, config, channels }: TargetOptions,
  context: object,
): EventPlace | undefined {
  const rendered = place?.to.renderKey(context, budget);
  const name = place?.channel.render(context, budget).trim();
  if (!name || !rendered || rendered.incomplete) return undefined;
  const channel = toChannelName(name);
  const all = bounds?.toLines(rendered.text) ?? rendered.text.split("\n").map((line) => line.trim());
  const lines = bounds ? all.filter(bounds.covers) : all;
  // A recipient that is too long would refuse an event that its sender cannot change.
  const recipients = lines.filter((line) => line !== "" && line.length <= MAX_LENGTHS.to);
  const isOwn = (line: string): boolean => channels?.get(channel)?.isOwn?.(line) ?? false;
  const isAllowed = (line: string): boolean => isAllowedRecipient(channel, line, { config, channels });
  const to = recipients.find((line) => isAllowed(line) && !isOwn(line)) ?? recipients.at(-1);
  return to === undefined
    ? undefined
    : {
        channel,
        to,
        references: toReferences(place?.references?.render(context, budget)),
        subject: blankToUndefined(place?.subject?.render(context, budget)),
        commit: toCommit(place?.commit?.render(context, budget)),
        isPrivate: place?.audience?.render(context, budget).trim() === "private" || undefined,
      };
}

/** The pull request of a change. Checks of its branch may not name it. */
export function findPullPlace(
  { account, pull }: Pick<KeptChange, "account" | "pull">,
  { mapping: { place }, budget }: TargetOptions,
  context: object,
): EventPlace | undefined {
  if (pull === undefined) return undefined;
  const isPrivate = place?.audience?.render(context, budget).trim() === "private" || undefined;
  return { channel: account, to: pull, isPrivate };
}

/** Whether a read of a preset would be about another place than the event, because its payload contradicts itself. */
export function isReadElsewhere(
  { mapping, budget, config }: TargetOptions,
  context: object,
  { call, arguments: args }: Pick<ContextCall, "call" | "arguments">,
): boolean {
  const account = findAccount(call, config);
  const written = mapping.source.mapping.context?.find((entry) => entry.call === call)?.arguments?.[account ?? ""];
  // The operator may name any place.
  if (account === undefined || !mapping.place || !String(written).includes("{{")) return false;
  const to = mapping.place.to.render(context, budget).trim();
  return !isBelow(to, toText(args[account]), mapping.source.mapping.source?.below);
}

/** Rules for the calls of its preset that a mapping grants, for an event. */
export function toWriteRules(options: TargetOptions, context: object): WriteRules {
  const { mapping, budget, config } = options;
  return {
    find(call) {
      const writes = config.hooks.writes.find(({ account }) => call.startsWith(`${account}.`));
      const name = call.slice((writes?.account.length ?? 0) + 1);
      return writes && Object.hasOwn(writes.calls, name) ? writes.calls[name] : undefined;
    },
    isElsewhere({ account }, args) {
      if (account === undefined) return false;
      const to = mapping.place?.to.render(context, budget).trim() ?? "";
      return !isBelow(to, toText(args[account]), mapping.source.mapping.source?.below);
    },
    isPublic() {
      const place = renderPlace(options, context);
      return !place || isPublicPlace(place, config);
    },
  };
}

/** The argument of a preset's read that has the place. */
function findAccount(call: string, { hooks }: Terms["config"]): string | undefined {
  const reads = hooks.reads.find(({ set }) => call.startsWith(`${set}.`));
  const name = call.slice((reads?.set.length ?? 0) + 1);
  return reads && Object.hasOwn(reads.calls, name) ? reads.calls[name]?.account : undefined;
}

/** The operator's `audience` of the channel has precedence, for a place and for a reply there. */
export function isPublicPlace({ channel, isPrivate }: EventPlace, { channelRules }: Terms["config"]): boolean {
  const said = channelRules.get(channel)?.audience;
  return said === undefined ? !isPrivate : said === "public";
}

/** Anything else than a whole hash would name a commit of the sender's choice in a service's API. */
function toCommit(rendered = ""): string | undefined {
  return /^(?:[\da-f]{40}|[\da-f]{64})$/.exec(rendered.trim())?.[0];
}

/** Why nothing can be sent to the place. The sender cannot change where its event is, so the run goes on without a delivery. */
export function findPlaceRefusal(
  { channel, to }: EventPlace,
  { mapping, request, config, channels }: TargetOptions,
): string | undefined {
  const { credential } = request.credential === ANY_CREDENTIAL ? mapping : request;
  if (!config.channelNames.includes(channel)) return "there is no such channel.";
  const needsNoAllow =
    (credential === ANY_CREDENTIAL || isSender(credential)) && !channels?.get(channel)?.sourceNeedsAllow;
  if (channels?.get(channel)?.isOwn?.(to)) return "the recipient is the service itself.";
  return findUndeliverable({ channel, to, needsNoAllow }, { config, channels })?.message;
}

/** Where the reply is to go: the wanted targets of a list, else the draft's own channel and recipient. */
export function toTargets(draft: Draft, base: Draft, { mapping, config }: TargetOptions): TargetDraft[] {
  const { templates, source } = mapping;
  const toChannel = createToChannel(config);
  const listed = draft.targets?.filter(({ isWanted }) => isWanted);
  if (listed) return listed.map((target) => ({ ...target, channel: toChannel(target.channel) }));
  return [
    {
      isWanted: true,
      channel: draft.channel,
      to: draft.to,
      update: source.mapping.update,
      thread: source.mapping.thread,
      isOwnChannel: draft.channel === base.channel && templates.channel?.isStatic !== false,
      isOwnRecipient: draft.to === base.to && templates.to?.isStatic !== false,
    },
  ];
}

export function isSource({ channel }: TargetDraft): boolean {
  return channel === SOURCE_CHANNEL;
}

/** Replaces the channel `source` by the place. Without a target that is left, nothing is delivered. */
export function toPlaces(draft: Draft, place: EventPlace | undefined): Draft {
  if (!draft.targets) return draft;
  const targets = draft.targets.flatMap((target): TargetDraft[] => {
    if (!isSource(target)) return [target];
    return place ? [{ ...target, ...place, toSource: true }] : [];
  });
  if (targets.length > 0) return { ...draft, targets };
  // The action still shows where it would have gone.
  const [shown = { ...draft, isWanted: false, isOwnChannel: true, isOwnRecipient: true }] = draft.targets;
  return { ...draft, deliver: false, targets: [shown] };
}
