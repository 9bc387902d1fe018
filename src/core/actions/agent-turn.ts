import type { AgentDriver, AgentTurn, HistoryEntry, Workspace } from "../ports/agent.ts";
import type { ApprovalDraft } from "../approvals/ask.ts";
import { type Bounded, type Origin, protectAction, toHookOrigin, toPrompt } from "../boundary/boundary.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import type { ResolvedConfig } from "../config/resolved-config.ts";
import { type StoredSettings, toStored } from "../config/settings.ts";
import { DriverError, withWarnings } from "../errors.ts";
import type { NewApproval, NewDelivery, NewEntry, Run, TurnOutcome } from "../journal/journal.ts";
import { resolveAnswerSettings, resolveTurnSettings, type TurnSettings } from "../mapping/policy/policy.ts";
import { toChannelName } from "../shared/channel-names.ts";
import { createId } from "../shared/id.ts";
import { inSpan } from "../telemetry/traces.ts";
import type { ToolSets } from "../ports/open-tool-sets.ts";
import {
  type AgentAction,
  type Author,
  type ContextCall,
  type FileRef,
  type Grant,
  listTargets,
  NO_MODEL,
} from "../types.ts";
import { readContext } from "./read-context.ts";
import { type FilesOptions, type ReadFiles, readFiles } from "./read-files.ts";
import { runLoop } from "./loop.ts";
import { toSummary } from "./main-session.ts";
import { describeReviewFormat, type Reply, REPLY_RULES, sendReplies, toOpenHosts } from "./reply.ts";
import { openGrants } from "./call-rules.ts";
import { recordSteps, type StepStore, Suspended } from "./steps.ts";

/** A run of an agent action; a heartbeat's run has no action. */
export type HookRun = Run & { action: AgentAction };

/** Runs an agent action: a turn in its session, a summary for the main session, the delivery of the reply. */
export async function runAgentAction(run: HookRun, context: TurnContext): Promise<TurnOutcome> {
  const own = run.action.isolated ? { ...context, history: [] } : context;
  const { sources, isSkipped, ...turn } = (await isAboutOlder(run, context))
    ? { ...toSkipped("about an older commit"), finishedAt: Date.now() }
    : (replyWithoutAgent(run) ?? requireAnswer(await runAgentTurn(toRequest(run), own), run));
  if (isSkipped) return { ...turn, deliveries: [] };
  const { heartbeat, linkHosts } = context.settings;
  const { id: runId, eventId, hook, action } = run;
  const sent = await sendReplies(toReplies(run, turn.reply, heartbeat.ack), {
    about: { runId, eventId, hook, step: turn.lastStep?.n ?? 0, sources },
    linkHosts,
    serviceHost: action.serviceHost,
    isReview: action.review !== undefined,
    ask: context.ask,
  });
  return {
    ...turn,
    ...sent,
    warnings: [...turn.warnings, ...sent.warnings],
    entries: [...turn.entries, { ...toSummary(run, turn.reply, turn.finishedAt), ...toSources(sources) }],
  };
}

/** The last word about checks is about the head of the branch, as the turns before it were. If nobody can say, it is. */
async function isAboutOlder({ action }: HookRun, { files, signal }: TurnContext): Promise<boolean> {
  const { woken, workspace } = action;
  if (woken?.by !== "end" || woken.branch === undefined || !workspace) return false;
  const { account, repository, pushTo = repository } = workspace;
  const head = { repository: pushTo, branch: woken.branch };
  const driver = files?.channels.get(toChannelName(account));
  const pull = await driver?.findPull?.(repository, head, signal).catch(() => signal.throwIfAborted() ?? undefined);
  return pull?.commit !== undefined && pull.commit !== woken.commit;
}

/** An empty answer has failed. It is only a warning if nobody was to get it. */
function requireAnswer(turn: TurnResult, { action }: HookRun): TurnResult {
  if (turn.reply.trim() !== "" || turn.isSkipped) return turn;
  if (!action.deliver) return { ...turn, warnings: [...turn.warnings, "The answer was empty."] };
  const error = new DriverError(`The answer of ${turn.model ?? "the agent"} was empty.`, { retryable: true });
  throw withWarnings(error, turn.warnings);
}

function toRequest(run: HookRun): TurnRequest {
  const { id: runId, eventId, sessionKey, action } = run;
  const { model, thinking, timeoutSeconds, context, files, workspace, grants = [], sources = [] } = action;
  const message = toMessage(run);
  // An agent that keeps the history itself must not find the session's.
  const conversation = action.isolated ? `${sessionKey}:${runId}` : sessionKey;
  const settings = { model, thinking, timeoutSeconds, ...toStored(action) };
  const { serviceHost } = action;
  const about = { message, sources, context, files, workspace, grants, serviceHost, origin: originOf(run) };
  return { kind: "hook", runId, eventId, sessionKey, conversation, ...about, ...settings };
}

function toMessage(run: HookRun): Bounded {
  const { action } = run;
  const instructions = [action.instructions, describeReviewFormat(action)].filter(Boolean).join("\n\n") || undefined;
  return protectAction(action.message, { ...action, instructions }, originOf(run, action.author));
}

/**
 * Without an agent the message itself is the reply. The session keeps the wrapped message for both sides, because a later
 * turn is given these entries and must not take outside text for the assistant's own words.
 */
function replyWithoutAgent(run: HookRun): TurnResult | undefined {
  const { id: runId, eventId, sessionKey, action } = run;
  if (action.agent !== "none") return undefined;
  const at = Date.now();
  const entry = { sessionKey, ...toMessage(run), at, eventId, runId };
  return {
    finishedAt: at,
    reply: action.message,
    model: NO_MODEL,
    warnings: [],
    sources: [],
    entries: [
      { ...entry, role: "user" },
      { ...entry, role: "assistant" },
    ],
  };
}

function toReplies({ id: runId, eventId, sessionKey, action }: HookRun, text: string, ack: string): Reply[] {
  if (text.trim() === "") return [];
  // Only an agent can acknowledge. In a message that was passed on, the same words come from outside.
  if (action.agent !== "none" && isOnlyAck(text, ack)) return [];
  return listTargets(action).map(({ channel, to, routeBy, toSource, addressee, update, isPrivate = false }) => {
    const conversation = toSource && sessionKey;
    const replaces = update ?? (toSource && action.onFailure !== undefined ? ("notice" as const) : undefined);
    const route = { channel, to, routeBy, conversation, addressee, update: replaces };
    return { delivery: { id: createId(), runId, eventId, ...route, text }, isPrivate };
  });
}

/** The text for the place of the event when the run has failed: the operator's words, never the error's. */
export function toFailureNotice({ id: runId, eventId, sessionKey, action }: HookRun): NewDelivery[] {
  const { onFailure: text } = action;
  const source = listTargets(action).find(({ toSource }) => toSource);
  if (text === undefined || !source) return [];
  const { channel, to, addressee } = source;
  return [{ id: createId(), runId, eventId, channel, to, text, conversation: sessionKey, addressee, isNotice: true }];
}

/** `author`: of the text. */
function originOf({ hook, action }: HookRun, author?: Author): Origin {
  return toHookOrigin(hook ?? action.name, author);
}

/** The settings of a turn, read when it starts. */
export interface TurnContext {
  agent: AgentDriver;
  settings: ResolvedConfig["agents"];
  /** The session's earlier turns, oldest first. */
  history: PastEntry[];
  /** When the session with this history began. */
  sessionStart?(sessionKey: string): Promise<number | undefined>;
  /** The tool sets of the runtime in use: a call is looked up when it is executed. */
  tools: Pick<ToolSets, "find" | "findChange" | "isChange" | "list" | "explainMissing">;
  /** Where files of an event are read. Absent: nowhere. */
  files?: Pick<FilesOptions, "channels" | "mailboxes" | "readEvent">;
  /** Names questions to a person. */
  ask(drafts: ApprovalDraft[]): Promise<NewApproval[]>;
  /** Absent: the turn keeps no steps. */
  steps?: StepStore;
  /** The grants of its mapping as the configuration in use has them. */
  written?: MappingInput["grants"];
  /** Aborts when the service stops. */
  signal: AbortSignal;
}

export interface PastEntry extends HistoryEntry {
  /** The private sources that the text was made from. Absent: none. */
  sources?: string[];
}

/** Private sources of the texts before a turn. The tests of injections replace them. */
export const SOURCE_RULES = {
  ofHistory: (history: readonly PastEntry[]): string[] => history.flatMap(({ sources = [] }) => sources),
};

interface TurnRequest extends Pick<AgentTurn, "kind" | "runId" | "sessionKey">, Partial<TurnSettings>, StoredSettings {
  message: Bounded;
  /** The private sources of the message. */
  sources: string[];
  origin: Origin;
  /** Read before the agent is asked, and not kept in the session. */
  context?: readonly ContextCall[];
  /** The same. */
  files?: readonly FileRef[];
  grants: Grant[];
  workspace?: Workspace;
  /** The host of the service that the event is about. */
  serviceHost?: string;
  eventId?: string;
  /** The session as the agent knows it. Default: `sessionKey`. */
  conversation?: string;
}

interface TurnResult extends Omit<TurnOutcome, "deliveries"> {
  isSkipped?: true;
  /** The private sources of everything that was in the prompt. */
  sources: string[];
}

/**
 * Runs one turn of the agent; the result holds the two entries that the session keeps. Rejects with the driver's error,
 * a `TurnTimeout`, or the signal's reason.
 */
export async function runAgentTurn(request: TurnRequest, context: TurnContext): Promise<TurnResult> {
  const { agent, tools, settings, history, steps, written, signal } = context;
  const { kind, runId, sessionKey, conversation = sessionKey, eventId, message, grants, origin } = request;
  const { hook } = origin;
  const { ack } = settings.heartbeat;
  const settled = resolveTurnSettings(request, settings);
  const { fallbackModels, maxOutputTokens } = resolveAnswerSettings(request, settings);
  const calls = request.context ?? [];
  const { workspace } = request;
  if (workspace) requireWorkspaces([settled.model, ...fallbackModels], agent);
  const refs = (context.files && request.files) ?? [];
  const hasSteps = calls.length > 0 || refs.length > 0 || grants.length > 0 || workspace !== undefined;
  const recorded = hasSteps ? ((await steps?.list()) ?? []) : [];
  const read = await readContext(calls, { tools, runId, hook, recorded, signal });
  const given: ReadFiles | undefined =
    context.files && refs.length > 0
      ? await readFiles(refs, { ...context.files, hook, first: calls.length + 1, signal })
      : undefined;
  const isRead = recorded.some((step) => step.kind === "context");
  // The bytes are read again by each attempt. What an earlier one has recorded stays.
  const readSteps = [...read.steps, ...(given?.steps ?? [])];
  const warnings = [...read.warnings, ...(given?.warnings ?? [])];
  if (readSteps.length > 0 && !isRead) await recordSteps(readSteps, steps);
  const askedAt = Date.now();
  const isKept = [settled.model, ...fallbackModels].some((model) => agent.keepsHistory?.(model));
  const began = isKept && history.length > 0 ? await context.sessionStart?.(sessionKey) : undefined;
  const turn: AgentTurn = {
    kind,
    runId,
    sessionKey: conversation,
    ...(isKept && { sessionStart: began ?? askedAt }),
    history: history.map(({ role, text }) => ({ role, text })),
    message: toPrompt(message) + read.prompt + (given?.prompt ?? ""),
    ...(given && given.files.length > 0 && { files: given.files }),
    ...settled,
    maxOutputTokens,
    ack,
  };
  const { rules, warnings: unusable } = openGrants(grants, tools, {
    runId,
    origin,
    workspace,
    closeLinks: async (text) =>
      (await REPLY_RULES.closeLinks(text, toOpenHosts(settings.linkHosts, request.serviceHost))).text,
  });
  const ofWorkspace = workspace && !workspace.isPublic ? [workspace.account] : [];
  const known = new Set([
    ...request.sources,
    ...read.sources,
    ...(given?.sources ?? []),
    ...ofWorkspace,
    ...SOURCE_RULES.ofHistory(history),
  ]);
  const answer = await inSpan("turn", async (describe) => {
    const progress = { recorded: isRead ? recorded : [...readSteps, ...recorded], sources: [...known] };
    const loop = {
      agent,
      settings,
      fallbackModels,
      rules,
      written,
      steps,
      hasSteps,
      workspace,
      contexts: readSteps.length,
      signal,
    };
    // To wait for a person is no failure.
    const reply = await runLoop(turn, { ...loop, ...progress }).catch((error: unknown) => {
      if (error instanceof Suspended) return error;
      throw withWarnings(error, [...unusable, ...warnings]);
    });
    if (reply instanceof Suspended) return reply;
    describe?.({
      "gen_ai.response.model": reply.model,
      "gen_ai.usage.input_tokens": reply.usage?.inputTokens,
      "gen_ai.usage.output_tokens": reply.usage?.outputTokens,
    });
    return reply;
  });
  if (answer instanceof Suspended) throw answer;
  const { text, model, usage, cost, sources, notes, lastStep, skipped } = answer;
  const finishedAt = Date.now();
  if (skipped !== undefined) return { ...toSkipped(skipped), finishedAt };
  const about = { sessionKey, eventId, runId, ...toSources(sources) };
  const entries: NewEntry[] = [
    { ...about, role: "user", ...message, at: askedAt },
    { ...about, role: "assistant", text, at: finishedAt },
  ];
  return {
    finishedAt,
    reply: text,
    model,
    usage,
    cost,
    warnings: [...unusable, ...warnings, ...answer.warnings],
    entries,
    sources,
    notes,
    lastStep,
  };
}

/** Nobody was asked, and nothing is said. */
function toSkipped(skipped: string): Omit<TurnResult, "finishedAt"> {
  return { reply: "", model: NO_MODEL, warnings: [`Skipped: ${skipped}.`], entries: [], sources: [], isSkipped: true };
}

/** A workspace is for programs in a sandbox. */
function requireWorkspaces(models: (string | undefined)[], agent: AgentDriver): void {
  const other = models.find((model) => !agent.hasWorkspaces?.(model));
  if (other === undefined && models.every((model) => model !== undefined)) return;
  const message = `The hook has a workspace, and ${other ?? "the default model"} is no program in a sandbox. Choose the model of a provider of kind acp or command with sandbox: true.`;
  throw new DriverError(message, { retryable: false });
}

/** Most texts are made from nothing private, and then nothing is stored. */
function toSources(sources: string[]): Pick<NewEntry, "sources"> {
  return sources.length > 0 ? { sources } : {};
}

/** How much text there may be beside the ack, in characters, without the space between them. */
const MAX_BESIDE = 300;

/** Whether a reply is just the ack: at its start or end, with at most 300 characters beside it. */
export function isOnlyAck(reply: string, ack: string): boolean {
  const text = reply.trim();
  // This comes first because the patterns below are slow on long runs of punctuation.
  if (text.replace(ack.trim(), "").trim().length > MAX_BESIDE) return false;
  return isAtEdge(text, ack.trim()) || isAtEdge(withoutPunctuation(text), withoutPunctuation(ack));
}

/** Drops quotes, Markdown and HTML emphasis, and other punctuation around a text. */
function withoutPunctuation(text: string): string {
  return text.replace(/<\/?[a-z]\w*>/gi, " ").replace(/^[\s\p{P}\p{S}]+|[\s\p{P}\p{S}]+$/gu, "");
}

/** Whether the text starts or ends with these words, as whole words. */
function isAtEdge(text: string, words: string): boolean {
  if (words === "") return false;
  const isFirst = text.startsWith(words) && !/^[\p{L}\p{N}_]/u.test(text.slice(words.length));
  const isLast = text.endsWith(words) && !/[\p{L}\p{N}_]$/u.test(text.slice(0, -words.length));
  return isFirst || isLast;
}
