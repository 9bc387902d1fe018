import { toVisible } from "../../boundary/visible.ts";
import type { Approval, EventSummary, NewApproval, Run, Step } from "../../journal/journal.ts";
import { toText } from "../../shared/json.ts";
import { toQuestionWord } from "../../shared/words.ts";
import { cutText, toolSetOf } from "../../shared/text/text.ts";
import { type AgentAction, type ApprovalKind, listTargets } from "../../types.ts";
import { toArgumentBlocks } from "./arguments.ts";
import { toFileDiffs } from "./file-diffs.ts";
import type { Answer, Block, CardPart, Fact, Question, WordsOf } from "./card.ts";

/** The rows that a question is made of. */
export interface QuestionRows {
  approval: NewApproval & Partial<Pick<Approval, "state">>;
  run?: Pick<Run, "action" | "joined">;
  /** The steps of the run, in their order. */
  steps: readonly Step[];
  event?: Pick<EventSummary, "subject" | "receivedAt">;
  /** How many later runs of the session wait for it. */
  behind: number;
  /** Where people are asked, and who may answer there. */
  asked?: { channel?: string; to?: string; by: readonly string[] };
  link?: string;
}

/** The tests of injections replace them. */
export const QUESTION_RULES = { show: toVisible };

const MAX_EVENT_TEXT = 400;
const MAX_REASON_TEXT = 600;
const MAX_READ_TEXT = 20_000;

export function toQuestion(rows: QuestionRows): Question {
  const { approval, link } = rows;
  const { id, code, kind, state = "open", expiresAt } = approval;
  const { title, names } = toTitle(approval);
  return {
    id,
    code,
    kind,
    state: toQuestionWord(state),
    title,
    names,
    blocks: [
      toAbout(rows),
      toReason(rows),
      toSent(rows),
      toReads(rows),
      toBefore(rows),
      toFollows(rows),
      toWho(rows),
    ].flat(),
    answers: state === "open" ? toAnswers(approval) : [],
    ...(expiresAt !== undefined && { until: new Date(expiresAt).toISOString() }),
    ...(link !== undefined && { link }),
  };
}

function show(text: string): string {
  return QUESTION_RULES.show(text);
}

/** On one line. */
function showLine(text: string): string {
  return show(text.replaceAll(/\s+/g, " ").trim());
}

function toTitle({ kind, call = "", address, deliveries }: NewApproval): { title: string; names: string[] } {
  const name = showLine(call);
  const host = showLine(/https?:\/\/([^/\s]+)/.exec(address ?? "")?.[1] ?? toolSetOf(call));
  const [reply] = deliveries ?? [];
  const place = showLine(`${reply?.channel ?? ""} ${reply?.to ?? ""}`);
  if (kind === "reply") return { title: `Deliver this reply to ${place}?`, names: [place] };
  if (kind === "outcome") return { title: `Was ${name} executed?`, names: [name] };
  return { title: `Send ${name} to ${host}?`, names: [name, host] };
}

const ABOUT = { part: "about" } as const;

function toAbout({ approval, run, event }: QuestionRows): Block[] {
  const { action } = run ?? {};
  const source = action && listTargets(action).find(({ toSource }) => toSource);
  const place = source && showLine(`${source.channel} ${source.to ?? ""}`);
  const service = [
    approval.mapping
      ? {
          name: "Mapping",
          value: showLine(approval.mapping),
          place: `mappings/${encodeURIComponent(approval.mapping)}`,
        }
      : { name: "Hook", value: showLine(approval.hook ?? "") },
    { name: "Place", value: place },
    { name: "Received", value: event && new Date(event.receivedAt).toISOString() },
  ];
  const outside = [
    { name: "Subject", value: event?.subject && showLine(event.subject), ...toEventPlace(approval) },
    { value: approval.startedBy && `Started by ${showLine(approval.startedBy)}` },
  ];
  return [
    toFacts("event", outside),
    toFacts("service", service),
    ...messagesOf(run).map((message) => ({
      ...ABOUT,
      kind: "quote" as const,
      from: "event" as const,
      by: "the event",
      ...toStart(message, MAX_EVENT_TEXT),
    })),
  ].filter((block) => block.kind !== "facts" || block.rows.length > 0);
}

const toEventPlace = ({ eventId }: NewApproval): { place?: string } =>
  eventId === undefined ? {} : { place: `events/${eventId}` };

function toFacts(from: WordsOf, rows: Partial<Fact>[]): Block {
  return {
    ...ABOUT,
    kind: "facts",
    from,
    rows: rows.flatMap(({ value, ...name }) => (value ? [{ ...name, value }] : [])),
  };
}

function messagesOf(run: QuestionRows["run"]): string[] {
  const message = run?.action?.message;
  return [...(message ? [message] : []), ...(run?.joined?.messages ?? [])];
}

function toStart(text: string, max: number): { text: string; more?: number } {
  const kept = cutText(text, max);
  return { text: show(kept), ...(kept.length < text.length && { more: text.length - kept.length }) };
}

/** The model's text in the answer that asks for the call: its end, where it comes to the call. */
function toReason({ approval, steps }: QuestionRows): Block[] {
  if (approval.kind === "reply") return [];
  const answer = steps.findLast(({ kind, n }) => kind === "model" && n < approval.step);
  const text = answer?.text?.trim();
  if (!text) return [];
  const kept = text.length <= MAX_REASON_TEXT ? text : text.slice(-MAX_REASON_TEXT).replace(/^[\uDC00-\uDFFF]/, "");
  const by = answer?.model === undefined ? "the agent" : `the agent, ${showLine(answer.model)}`;
  const more = text.length - kept.length;
  return [{ part: "why", kind: "quote", from: "agent", by, text: show(kept), ...(more > 0 && { more }) }];
}

function toSent(rows: QuestionRows): Block[] {
  const { approval } = rows;
  const { description, address, arguments: args, deliveries = [], fixed = [] } = approval;
  if (approval.kind === "reply")
    return deliveries.map(({ text }) => ({ part: "sent", kind: "text", from: "agent", text: show(text) }));
  const written = [
    ...(description ? [{ name: "Description", value: show(description) }] : []),
    ...(address ? [{ name: "Address", value: showLine(address) }] : []),
  ];
  const reads = readsOf(rows).map((step) => ({ name: toReadName(step), text: step.text ?? "" }));
  const blocks = toArgumentBlocks(args ?? {}, { fixed, show, reads, events: toEventTexts(rows) });
  const change = rows.steps.find(({ kind, n }) => kind === "model" && n === approval.step - 1)?.answer?.change;
  return [
    ...(written.length > 0 ? [{ part: "sent", kind: "facts", from: "tool", rows: written } as const] : []),
    ...blocks.map((block) => ({ part: "sent", from: "agent", ...block }) as const),
    ...(change ? toFileDiffs(change.patch) : []).map((file): Block => ({
      part: "sent",
      from: "agent",
      kind: "diff",
      name: show(file.name),
      lines: file.lines.map((line) => ({ ...line, text: show(line.text) })),
    })),
  ];
}

function toEventTexts({ run, event }: QuestionRows): string[] {
  return [...messagesOf(run), event?.subject ?? ""].filter(Boolean);
}

/** The context and the calls to read before the question. */
function readsOf({ approval, steps }: QuestionRows): Step[] {
  return steps.filter(
    ({ kind, n, callId, state }) =>
      state === "done" && (kind === "context" || (kind === "call" && callId === undefined && n <= approval.step)),
  );
}

function toReadName({ call = "", title }: Step): string {
  return showLine(call || (title ?? "context"));
}

function toReads(rows: QuestionRows): Block[] {
  return readsOf(rows).map((step) => {
    const args = Object.entries(step.arguments ?? {}).map(([name, value]) => `${name}=${toText(value)}`);
    return {
      part: "read",
      kind: "quote",
      from: "tool",
      by: toReadName(step),
      ...(args.length > 0 && { arguments: showLine(cutText(args.join(" "), 200)) }),
      ...toStart(step.text ?? "", MAX_READ_TEXT),
      ...(step.sources.length > 0 && { isPrivate: true }),
    };
  });
}

function toBefore({ approval: { earlier = [] } }: QuestionRows): Block[] {
  if (earlier.length === 0) return [];
  return [toNote("before", `This event was replayed. It has already led to: ${earlier.map(showLine).join(", ")}`)];
}

function toNote(part: CardPart, text: string): Block {
  return { part, kind: "note", from: "service", text };
}

const FOLLOWS: Record<ApprovalKind, string> = {
  call: "Approve: sent once, with exactly these arguments; then the agent goes on. Deny: not sent; the agent gets your reason, and goes on.",
  outcome:
    "Done: the agent goes on with the result. Again: the call is sent again, with the same call id. Give up: the agent goes on without a result.",
  reply: "Approve: delivered once. Deny: not delivered.",
};

function toFollows({ approval: { kind, sources }, behind }: QuestionRows): Block[] {
  const read =
    sources.length === 0 ? "" : ` The agent has read private text from: ${sources.map(showLine).join(", ")}.`;
  const waits =
    behind === 0
      ? ""
      : ` ${behind} later ${behind === 1 ? "event" : "events"} of this session ${behind === 1 ? "waits" : "wait"} for it.`;
  return [toNote("follows", `${FOLLOWS[kind]}${read}${waits}`)];
}

function toWho({ approval, run, asked }: QuestionRows): Block[] {
  const { eventId, runId, step, hash, call = "" } = approval;
  const grant = findGrant(run, call);
  const rows = [
    ...(asked && asked.by.length > 0
      ? [{ name: "May decide", value: `${asked.by.join(", ")} in ${asked.channel ?? ""} ${asked.to ?? ""}`.trim() }]
      : []),
    ...(eventId === undefined ? [] : [{ name: "Event", value: eventId, ...toEventPlace(approval) }]),
    { name: "Run", value: `${runId}, step ${step}` },
    ...(hash === undefined ? [] : [{ name: "Hash", value: hash }]),
    ...(grant === undefined ? [] : [{ name: "Grant", value: showLine(grant) }]),
  ];
  return [{ part: "who", kind: "facts", from: "service", rows }];
}

function findGrant(run: QuestionRows["run"], call: string): string | undefined {
  const grants: AgentAction["grants"] = run?.joined?.access?.grants ?? run?.action?.grants;
  const grant = grants?.find((one) => one.call === call) ?? grants?.find((one) => one.call.includes("*"));
  return grant && `${grant.call}: ${grant.mode}`;
}

function toAnswers({ kind, againAt }: NewApproval): Answer[] {
  if (kind !== "outcome")
    return [
      { decision: "deny", label: "Deny" },
      { decision: "approve", label: "Approve" },
    ];
  return [
    { decision: "give-up", label: "Give up" },
    { decision: "again", label: "Again", ...(againAt !== undefined && { from: new Date(againAt).toISOString() }) },
    { decision: "done", label: "Done" },
  ];
}
