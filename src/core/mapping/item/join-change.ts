import type { Workspace } from "../../ports/agent.ts";
import { toChannelName } from "../../shared/channel-names.ts";
import type { AgentAction, HookAction, KeptChange, Woken } from "../../types.ts";
import { renderGrants } from "../policy/grants.ts";
import type { CompiledMapping } from "../compile.ts";
import { type TargetOptions, toWriteRules } from "../policy/event-place.ts";

/** Records of the changes of this service, and of the turns after them. */
export interface Changes {
  /** The newest change with one of these keys. */
  find(channel: string, keys: string[]): Promise<KeptChange | undefined>;
  /** The turns of events that have continued a session, newest first, without those that were skipped. */
  listWoken(sessionKey: string): Promise<EarlierTurn[]>;
  /** The mapping with this id. */
  findMapping(id: string): CompiledMapping | undefined;
}

export interface EarlierTurn extends Woken {
  /** The turn has not begun: its commit may be an older one by then. */
  isAhead: boolean;
}

/** An event at a change of this service. */
export interface Joined {
  change: KeptChange;
  /** The mapping that made the change. */
  made: CompiledMapping;
  woken: Woken;
}

/** Why an event at a change starts nothing. */
export interface NotJoined {
  reason: string;
}

/** Finds out whether an event is about a change of this service, after its place and its author have passed. */
export async function findJoined(
  { mapping, budget }: TargetOptions,
  context: object,
  changes: Changes | undefined,
): Promise<Joined | NotJoined | undefined> {
  const { change: about, place } = mapping;
  if (!changes || !about || !place) return undefined;
  const keys = about.listKeys(context, budget);
  const channel = toChannelName(place.channel.render(context, budget).trim());
  const change = keys.length === 0 ? undefined : await changes.find(channel, keys);
  const made = change && changes.findMapping(change.mapping);
  if (!change || !made?.workspace) return undefined;
  if (!about.isCheck) {
    if (mapping.source.mapping.asks !== true) return { reason: "it is about the agent's own change" };
    return { change, made, woken: { by: "person" } };
  }
  const commit = about.findCommit(context, budget);
  const woken = await changes.listWoken(change.sessionKey);
  // A commit of somebody else is compared with the head before the turn.
  if (commit === undefined || change.earlier.includes(commit)) return { reason: "about an older commit" };
  if (woken.some((one) => one.commit === commit)) return { reason: "this commit has its turn already" };
  const last = woken.findIndex(({ by }) => by === "person");
  const checks = (last === -1 ? woken : woken.slice(0, last)).filter(({ isAhead }) => !isAhead);
  const { tries } = made.workspace.fixed;
  if (checks.some(({ by }) => by === "end"))
    return { reason: `${tries === 1 ? "1 turn by checks has" : `${tries} turns by checks have`} not made it pass` };
  const isEnd = checks.length >= tries;
  return { change, made, woken: isEnd ? { by: "end", commit, branch: change.branch } : { by: "check", commit } };
}

/** The action continues the session of the change, with what the mapping that made it has. Its reply goes to its own place. */
export function joinSession(
  action: HookAction,
  { change, made, woken }: Joined,
  { context, url, isPublic, ...options }: TargetOptions & { context: object; url?: string; isPublic: boolean },
): HookAction {
  if (action.kind !== "agent") return action;
  const { tries = 0, ...settings } = made.workspace?.fixed ?? {};
  const joined: AgentAction = { ...action, sessionKey: change.sessionKey, woken };
  const workspace: Workspace = {
    ...settings,
    account: change.account,
    repository: change.repository,
    base: change.base,
    ...(url !== undefined && { url }),
    ...(isPublic && { isPublic: true }),
    ...(woken.by !== "person" && { about: woken.commit }),
  };
  if (woken.by === "end") {
    return {
      ...joined,
      workspace,
      agent: "none",
      message: `${tries === 1 ? "1 turn after a failed check has" : `${tries} turns after failed checks have`} not made this pass, so I have stopped. A comment or a review here lets me go on.`,
      instructions: undefined,
      context: undefined,
      grants: undefined,
    };
  }
  return {
    ...joined,
    workspace,
    grants: made.grants
      ? renderGrants(made.grants, context, { budget: options.budget, writes: toWriteRules(options, context) }).grants
      : undefined,
    model: change.model ?? action.model,
    fallbackModels: made.source.mapping.fallbackModels,
    timeoutSeconds: made.source.mapping.timeoutSeconds ?? action.timeoutSeconds,
    review: undefined,
  };
}
