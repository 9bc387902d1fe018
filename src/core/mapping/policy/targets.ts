import type { MappingInput } from "../../config/schema/generated.ts";
import { toChannelName } from "../../shared/channel-names.ts";
import { blankToUndefined } from "../../shared/text/text.ts";
import type { ReplyTarget, RouteOrigin } from "../../types.ts";
import type { Diagnostics } from "../diagnostics.ts";
import { type Budget, compileField, isYes, type Template } from "../template/template.ts";

/** One item of a mapping's `deliver`. */
export interface CompiledTarget {
  /** Its name in a transform. */
  name?: string;
  channel: Template;
  to?: Template;
  when?: Template;
  update?: boolean;
  thread?: "session";
  /** Who can see it, if the operator says so. */
  audience?: "public" | "private";
}

/** Where a reply is to go, before policy. */
export interface TargetDraft
  extends
    Pick<CompiledTarget, "name" | "update" | "thread" | "audience">,
    Pick<ReplyTarget, "to" | "toSource" | "references" | "subject" | "commit"> {
  /** False: `when` says no. */
  isWanted: boolean;
  /** Any text, because a template can render anything. */
  channel: string;
  /** The operator wrote the channel, and the recipient. */
  isOwnChannel: boolean;
  isOwnRecipient: boolean;
  /** The place is private, as its preset knows. */
  isPrivate?: true;
}

/** Undefined unless `deliver` is a list. */
export function compileTargets({ deliver }: MappingInput, diagnostics: Diagnostics): CompiledTarget[] | undefined {
  if (!Array.isArray(deliver)) return undefined;
  const names = deliver.map(({ name }) => name);
  return deliver.flatMap(({ name, update, thread, audience, ...texts }, index) => {
    const at = `deliver[${index}]`;
    if (name !== undefined && names.indexOf(name) < index) {
      diagnostics.problem(`${at}.name`, `Another target has the name "${name}". Give each its own.`);
    }
    const compile = (field: "channel" | "to" | "when"): Template | undefined =>
      texts[field] === undefined ? undefined : compileField(`${at}.${field}`, texts[field], diagnostics);
    const channel = compile("channel");
    return channel ? [{ name, update, thread, audience, channel, to: compile("to"), when: compile("when") }] : [];
  });
}

/** The templates of the targets, by their keys below the mapping. */
export function listTargetTemplates(targets: readonly CompiledTarget[] = []): [key: string, template: Template][] {
  return targets.flatMap(({ channel, to, when }, index) =>
    Object.entries({ channel, to, when }).flatMap(([field, template]): [string, Template][] =>
      template ? [[`deliver[${index}].${field}`, template]] : [],
    ),
  );
}

export function renderTargets(targets: readonly CompiledTarget[], context: object, budget: Budget): TargetDraft[] {
  return targets.map(({ name, channel, to, when, update, thread, audience }) => {
    return {
      name,
      isWanted: !when || isYes(when, context, budget),
      channel: toChannelName(blankToUndefined(channel.render(context, budget)) ?? "last"),
      to: blankToUndefined(to?.render(context, budget)),
      update,
      thread,
      audience,
      isOwnChannel: channel.isStatic,
      isOwnRecipient: to?.isStatic !== false,
    };
  });
}

/** Who chose a target of a mapping, of which `source` is none. */
export function routeOriginOf({ channel, to, isOwnChannel, isOwnRecipient }: TargetDraft): RouteOrigin | undefined {
  if (channel === "last" && to === undefined) return "request";
  if (!isOwnChannel || !isOwnRecipient) return undefined;
  return channel === "last" || to === undefined ? "request" : "operator";
}

/**
 * Whether only people whom the operator knows can see what is written to a target. A recipient that the operator wrote is
 * private, one from an event is public unless its preset knows better; what the operator says has precedence.
 */
export function isPrivate(target: TargetDraft, ofChannel: "public" | "private" | undefined): boolean {
  const said = target.audience ?? ofChannel;
  if (said !== undefined) return said === "private";
  if (target.toSource) return target.isPrivate === true;
  return target.to !== undefined && routeOriginOf(target) === "operator";
}
