import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { protect } from "../../src/core/boundary/boundary.ts";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import type {
  ClaimedRun,
  Journal,
  NewApproval,
  NewDelivery,
  NewEntry,
  NewEvent,
  Step,
} from "../../src/core/journal/journal.ts";
import { createSqliteJournal } from "../../src/stores/sqlite/sqlite.ts";
import { firstIdAt } from "../../src/core/shared/id.ts";
import { startOfDay } from "../../src/core/shared/time.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { type AgentAction, QUESTION_HOLDS } from "../../src/core/types.ts";
import { HOSTILE } from "./hostile.ts";
import { HOOK_TOKEN, withTokens } from "./service.ts";

/*
 * A service as it looks after three days: twelve senders, failures of each kind, long sessions, hostile payloads. It is written
 * into the journal itself, since only the journal can be in the past.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

interface Sender {
  hook: string;
  event?: string;
  subject?(n: number): string;
  payload(n: number): unknown;
  session(n: number): string;
  reply(n: number): string;
  /** Where its replies go; undefined: nowhere. */
  to?: { channel: string; to: string };
  cost?: number;
}

const REPOSITORIES = ["acme/shop", "acme/app", "acme/site"];
const REPLIES = [
  "The change is small and covered by tests. One thing to look at: the total is rounded before the discount is taken off.",
  "Nothing to do: the same alert fired twice yesterday and resolved itself after the deploy.",
  "I answered the customer that the invoice was sent twice by mistake, and that the second one is canceled.",
];

const SENDERS: Sender[] = [
  {
    hook: "github",
    event: "pull_request.opened",
    subject: (n) => `${REPOSITORIES[n % 3]}#${1200 + n}: Fix the total of a cart`,
    payload: (n) => ({
      action: "opened",
      number: 1200 + n,
      repository: { full_name: REPOSITORIES[n % 3], private: false },
      pull_request: {
        title: "Fix the total of a cart",
        user: { login: "ann" },
        body: "Rounds **after** the discount.",
      },
    }),
    session: (n) => `github:${REPOSITORIES[n % 3]}:${1200 + n}`,
    reply: () => REPLIES[0]!,
    to: { channel: "slack", to: "C0REVIEWS" },
    cost: 0.031,
  },
  {
    hook: "stripe",
    event: "invoice.payment_failed",
    subject: (n) => `in_1Q${n}: 49.00 EUR`,
    payload: (n) => ({ type: "invoice.payment_failed", data: { object: { id: `in_1Q${n}`, amount_due: 4900 } } }),
    session: (n) => `stripe:in_1Q${n}`,
    reply: () => "The card has expired. I drafted a mail to the customer.",
    to: { channel: "slack", to: "C0BILLING" },
    cost: 0.004,
  },
  {
    hook: "sentry",
    event: "issue.created",
    subject: (n) => `TypeError: cannot read total of undefined (${n % 7})`,
    payload: (n) => ({
      data: { issue: { id: 4_000_000 + n, title: "TypeError: cannot read total of undefined", culprit: "cart.ts" } },
    }),
    session: (n) => `sentry:${n % 7}`,
    reply: () => "It began with the deploy of 14:02. The cart is empty for guests who open the page twice.",
    cost: 0.02,
  },
  {
    hook: "alertmanager",
    event: "firing",
    subject: (n) => `DiskFull on db-${n % 3}`,
    payload: (n) => ({
      status: "firing",
      alerts: [{ labels: { alertname: "DiskFull", instance: `db-${n % 3}`, severity: "page" } }],
    }),
    session: (n) => `alert:DiskFull:db-${n % 3}`,
    reply: () => REPLIES[1]!,
    to: { channel: "slack", to: "C0OPS" },
    cost: 0.002,
  },
  {
    hook: "mail",
    event: "message",
    subject: (n) => `Re: Order ${8000 + n} has not arrived`,
    payload: (n) => ({
      source: "mail",
      messages: [{ from: "jo@example.com", subject: `Re: Order ${8000 + n} has not arrived`, body: "Where is it?" }],
    }),
    session: (n) => `mail:order-${8000 + n}`,
    reply: () => REPLIES[2]!,
    to: { channel: "email", to: "jo@example.com" },
    cost: 0.006,
  },
  {
    hook: "support",
    subject: (n) => `Ticket ${300 + n}: cannot log in`,
    payload: (n) => ({ ticket: { id: 300 + n, title: "cannot log in", priority: "high" } }),
    session: () => "support",
    reply: (n) => `Ticket ${300 + n}: the account is locked after five attempts. I unlocked it and answered.`,
    cost: 0.012,
  },
  {
    hook: "linear",
    event: "issue.update",
    subject: (n) => `SHOP-${n}: Ship the new cart`,
    payload: (n) => ({ action: "update", data: { identifier: `SHOP-${n}` } }),
    session: (n) => `linear:SHOP-${n}`,
    reply: () => "Summary: the work is done, and one question about the API is open.",
    cost: 0.003,
  },
  {
    hook: "grafana",
    event: "alerting",
    subject: () => "p99 of checkout over 800 ms",
    payload: () => ({ state: "alerting", title: "p99 of checkout over 800 ms" }),
    session: () => "grafana:checkout",
    reply: () => "The database has a long query since 09:12: the report of the month.",
    cost: 0.002,
  },
  {
    hook: "orders",
    subject: (n) => `order ${n}`,
    payload: (n) => ({ id: `o-${n}`, total: 12_345_678_901_234_567_890n.toString(), items: [{ "a-b": 1, "[x]": 2 }] }),
    session: (n) => `orders:${n % 40}`,
    reply: () => "The order is complete.",
    cost: 0.001,
  },
  {
    hook: "slack",
    event: "message",
    subject: () => "#general: can you look at this?",
    payload: (n) => ({ event: { type: "message", text: "can you look at this?", ts: `${n}.0001` } }),
    session: () => "slack:C0GENERAL",
    reply: () => "I looked at it: the link is to an old build.",
    to: { channel: "slack", to: "C0GENERAL" },
    cost: 0.004,
  },
  {
    hook: "ci",
    subject: (n) => `build ${n}`,
    payload: (n) => ({ job: n % 2 ? "lint" : "test", build: n }),
    session: (n) => `ci:${n}`,
    reply: () => "The job lint failed: two unused variables.",
    cost: 0.001,
  },
  {
    hook: "metrics",
    payload: (n) => ({ cpu: undefined, host: `web-${n % 4}`, note: HOSTILE[n % HOSTILE.length] }),
    session: () => "metrics",
    reply: () => "ok",
  },
];

/** The configuration that fits: the mappings of these senders, whose agent is the built-in echo, and a budget that is used up. */
const SEED_CONFIG: UserConfig = {
  hooks: {
    mappings: [
      {
        id: "releases",
        match: { path: "github", headers: { "x-github-event": "release" } },
        messageTemplate: "{{release.name}}",
      },
      ...SENDERS.map(({ hook }) => ({
        id: hook,
        match: { path: hook, ...(hook === "metrics" && { where: { required: ["cpu"] } }) },
        subject: "{{subject}}",
        messageTemplate: hook === "github" ? "PR #{{number}}: {{pull_request.title}}" : "{{json payload}}",
        sessionKey: `${hook}:{{id}}`,
        deliver: false,
        ...(hook === "ci" && { transform: { module: "ci.ts" } }),
      })),
    ],
  },
  agents: {
    providers: { cat: { kind: "command", sandbox: false, command: ["cat"] } },
    defaults: { model: "cat/small", maxAttempts: 1, heartbeat: { every: "24h" } },
    budget: { perDay: 1 },
  },
};

const SEED_FILES = {
  "transforms/ci.ts": `export default ({ payload }) => {
  console.log("job", payload.job);
  if (!payload.job) throw new Error("the payload has no job");
  return { message: "The job " + payload.job + " failed" };
};
`,
};

/** How many events are written, beside those of two questions. */
const SEED_EVENTS = 737;

/** Writes configuration, transforms and a journal of three days to a folder. `hostile`: questions that it has, too. */
export async function writeSeed(folder: string, { hostile = [] as HostileCase[] } = {}): Promise<void> {
  for (const [name, text] of Object.entries(SEED_FILES)) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens(SEED_CONFIG), undefined, 2));
  const journal = await createSqliteJournal({ folder: path.join(folder, ".webhooks"), telemetry: silentTelemetry });
  try {
    await fill(journal, Date.now());
    await addHostileQuestions(journal, hostile, Date.now() - MINUTE_MS);
  } finally {
    await journal.close();
  }
}

async function fill(journal: Journal, now: number): Promise<void> {
  const begin = now - 3 * DAY_MS + HOUR_MS;
  const step = Math.floor((now - begin - 5 * MINUTE_MS) / SEED_EVENTS);
  const moments = Array.from({ length: SEED_EVENTS - OPEN }, (_, n) => ({ n, at: begin + n * step }));
  const planned = moments.map((moment) => plan(SENDERS[(moment.n * 7) % SENDERS.length]!, moment));
  await Promise.all(planned.map(({ event }) => journal.accept(event)));
  await finish(
    journal,
    planned.filter(({ runId }) => runId !== undefined),
  );
  await retrySome(journal, Math.max(now - 10 * MINUTE_MS, startOfDay()));
  // Unfinished runs come last: the agent would otherwise take them first.
  const last = now - 4 * MINUTE_MS;
  for (let n = 0; n < OPEN; n++) await addOpen(journal, n, last + n * 1000);
  await journal.pauseMapping("linear", last);
  await addQuestions(journal, last + MINUTE_MS);
}

/**
 * A turn that an operator has retried twice, and whose reply was sent at the second attempt. It cost the budget of the day: at
 * any time of a day, it is used up.
 */
async function retrySome(journal: Journal, at: number): Promise<void> {
  const [letter] = await journal.listDeadLetters({ kind: "run", hook: "slack", limit: 1 });
  const { id, eventId } = letter!;
  await journal.retryDeadLetter(id, at);
  const [second] = await journal.claimRuns(1, at + 10);
  const error = "openai answered 503: the model is overloaded, try again later";
  await journal.deadLetterRun(second!, { finishedAt: at + 1230, error, entries: [] });
  await journal.retryDeadLetter(id, at + MINUTE_MS);
  const [third] = await journal.claimRuns(1, at + MINUTE_MS + 10);
  const target = { channel: "slack", to: "C01SUPPORT", text: "The third attempt worked." } as const;
  const delivery: NewDelivery = { id: idAt(at), runId: id, eventId, routeBy: "operator", ...target };
  const end = { finishedAt: at + MINUTE_MS + 2400, warnings: [], entries: [], deliveries: [delivery] };
  const usage = { inputTokens: 900, outputTokens: 80 };
  await journal.completeRun(third!, { ...end, reply: delivery.text, model: "openai/gpt-5-mini", usage, cost: 1 });
  const [first] = await journal.claimDeliveries(1, end.finishedAt + 20);
  await journal.finishDelivery(first!, { state: "failed", at: end.finishedAt + 340, error: "slack answered 500" });
  await journal.retryDeadLetter(delivery.id, end.finishedAt + MINUTE_MS);
  const [again] = await journal.claimDeliveries(1, end.finishedAt + MINUTE_MS + 10);
  const sentAt = end.finishedAt + MINUTE_MS + 250;
  await journal.finishDelivery(again!, { state: "sent", at: sentAt, route: target, partsSent: 1 });
}

/** A call that waits for a person, and one whose result nobody knows. */
async function addQuestions(journal: Journal, at: number): Promise<void> {
  const stripe = SENDERS.find(({ hook }) => hook === "stripe")!;
  const codes = await journal.reserveCodes(2);
  for (const [index, kind] of (["call", "outcome"] as const).entries()) {
    const { event, runId } = toEvent(stripe, { n: 2000 + index, at: at + index });
    await journal.accept(event);
    const [run] = await journal.claimRuns(1, at + 10);
    if (run?.id !== runId) throw new Error(`another run is due: ${run?.id}`);
    const given = { customer: "cus_49", amount: 4900, note: "card expired \u202egnp, c\u0430ncel\ufe0f" };
    const step: Step = {
      n: 1,
      kind: "call",
      state: kind === "call" ? "waiting" : "unknown",
      call: "billing.refund",
      arguments: given,
      sources: ["billing"],
      startedAt: at + 20,
    };
    const asked: NewApproval = {
      id: idAt(at + index),
      kind,
      code: codes[index]!,
      runId,
      eventId: event.id,
      hook: "stripe",
      mapping: "stripe",
      step: 1,
      call: "billing.refund",
      arguments: given,
      hash: "0",
      basis: "0",
      sources: ["billing"],
      askedAt: at + 30,
      ...(kind === "call" && { expiresAt: at + 4 * HOUR_MS }),
    };
    const reason = kind === "call" ? QUESTION_HOLDS.approval : QUESTION_HOLDS.outcome;
    await journal.holdRun(run, reason, { steps: [step], asked: [asked], open: [] });
  }
}

/** The end of the arguments of each hostile question. */
export const HOSTILE_END = "the end of the arguments";

const nest = (value: unknown, depth: number): unknown => (depth === 0 ? value : { deeper: nest(value, depth - 1) });

type HostileForm = Pick<NewApproval, "arguments"> & { reply?: { to: string; text: string } };
type HostileCase = HostileForm & { text: string };

/** The forms of a card: a table with odd names, a long text, a diff, a list, deep JSON, a reply. */
const FORMS: ((text: string) => HostileForm)[] = [
  (text) => ({ arguments: { [text.slice(0, 80)]: 1, note: text.slice(0, 280), amount: 69.5, end: HOSTILE_END } }),
  (text) => ({ arguments: { body: `${text}\n`.repeat(60), end: HOSTILE_END } }),
  (text) => ({ arguments: { oldText: `one\n${text}`, newText: `two\n${text}`, end: HOSTILE_END } }),
  (text) => ({ arguments: { rows: [text, "b"].map((value) => ({ value, [text.slice(0, 9)]: 1 })), end: HOSTILE_END } }),
  (text) => ({ arguments: { deep: nest(text, 60), end: HOSTILE_END } }),
  (text) => ({ reply: { to: text.slice(0, 90), text: `${text}\n${HOSTILE_END}` } }),
];

/** Each hostile text in each form. */
export const HOSTILE_CASES: HostileCase[] = HOSTILE.flatMap((text) => FORMS.map((form) => ({ text, ...form(text) })));

/** Each text in every second form, and each form with every second text. */
export const HOSTILE_SAMPLE = HOSTILE_CASES.filter((_, at) => (at + Math.floor(at / FORMS.length)) % 2 === 0);

async function addHostileQuestions(journal: Journal, cases: HostileCase[], at: number): Promise<void> {
  const codes = await journal.reserveCodes(cases.length);
  for (const [index, { text, reply, ...form }] of cases.entries()) {
    const hostile: Sender = {
      hook: "hostile",
      subject: () => text,
      payload: () => ({ text }),
      session: (n) => `hostile:${n}`,
      reply: () => text,
    };
    const { event, runId } = toEvent(hostile, { n: index, at: at + index });
    await journal.accept(event);
    const [run] = await journal.claimRuns(1, at + index + 10);
    if (run?.id !== runId) throw new Error(`another run is due: ${run?.id}`);
    const said = { startedAt: at, finishedAt: at, state: "done", text } as const;
    const steps: Step[] = [
      {
        ...said,
        n: 1,
        kind: "context",
        title: text.slice(0, 90),
        call: "notes.show",
        arguments: { text },
        sources: ["notes"],
      },
      { ...said, n: 2, kind: "model", model: "openai/gpt-5-mini", sources: [] },
    ];
    const eventId = event.id;
    const delivery = { id: idAt(at + index), runId, eventId, channel: "slack", routeBy: "operator", ...reply } as const;
    const asked: NewApproval = {
      id: idAt(at + index),
      kind: reply ? "reply" : "call",
      code: codes[index]!,
      runId,
      eventId,
      hook: "hostile",
      // A mapping has 20 open questions at most.
      mapping: `hostile-${index % 3}`,
      step: 3,
      call: "notes.write",
      description: text,
      address: `POST https://notes.example/${text.slice(0, 90)}`,
      hash: "0",
      basis: "0",
      sources: ["notes"],
      startedBy: text.slice(0, 200),
      askedAt: at + 30,
      // The first has expired when the service starts.
      ...(index === 0 && { expiresAt: at + 40 }),
      ...form,
      ...(reply && { deliveries: [{ ...delivery, text: reply.text }] }),
    };
    await journal.holdRun(run, QUESTION_HOLDS.approval, { steps, asked: [asked], open: [] });
  }
}

/** How many are unfinished. */
const OPEN = 12;

interface Planned {
  sender: Sender;
  moment: Moment;
  event: NewEvent;
  /** undefined: it leads to no turn. */
  runId?: string;
}

function plan(sender: Sender, moment: Moment): Planned {
  const { event, runId } = toEvent(sender, moment);
  const { n } = moment;
  const none = (parts: Partial<NewEvent>): Planned => ({ sender, moment, event: { ...event, actions: [], ...parts } });
  if (sender.hook === "metrics")
    return none({ mapping: undefined, status: "skipped", reason: "where: cpu is missing" });
  if (sender.hook === "ci" && n % 60 < 12) {
    const detail = "the payload has no job\n    at default (ci.ts:3:28)";
    const failure = { code: "transform_failed", message: "The transform of this hook failed.", detail };
    return none({ status: "failed", failure, log: [{ level: "log", text: "job undefined" }] });
  }
  if (n % 97 === 0) {
    const message = "The payload does not fit the schema: /action must be a string.";
    return none({ status: "rejected", failure: { code: "invalid_payload", message } });
  }
  return { sender, moment, event, runId };
}

/** In rounds: the first turn of each session, then the next. Each round is a few commits. */
async function finish(journal: Journal, planned: Planned[]): Promise<void> {
  let rest = planned;
  while (rest.length > 0) {
    const round = [...Map.groupBy(rest, ({ event }) => sessionOf(event)).values()].map(([first]) => first!);
    round.sort((one, other) => one.moment.at - other.moment.at);
    const claims = await Promise.all(round.map(({ moment }) => journal.claimRuns(1, moment.at + 40)));
    const runs = new Map(claims.flat().map((run) => [run.id, run]));
    await Promise.all(round.map((each) => endRun(journal, runs.get(each.runId!)!, each)));
    await sendAll(journal);
    rest = rest.filter((each) => !round.includes(each));
  }
}

function sessionOf({ actions }: NewEvent): string {
  const [first] = actions;
  return first && "runId" in first ? first.action.sessionKey : "";
}

async function sendAll(journal: Journal): Promise<void> {
  for (;;) {
    const claimed = await journal.claimDeliveries(100, Date.now());
    if (claimed.length === 0) return;
    await Promise.all(
      claimed.map((delivery) => {
        const { channel, to = "", createdAt } = delivery;
        const at = createdAt + 300;
        const isLost = channel === "email" && Math.floor(createdAt / 10) % 3 === 0;
        if (isLost) {
          const error = `550 5.1.1 <${to}> is unknown here (${createdAt % 1000})`;
          return journal.finishDelivery(delivery, { state: "failed", at, error });
        }
        return journal.finishDelivery(delivery, { state: "sent", at, route: { channel, to }, partsSent: 1 });
      }),
    );
  }
}

let ids = 0;

function idAt(at: number): string {
  ids += 1;
  return `${firstIdAt(at).slice(0, 14)}7000-8000-${ids.toString(16).padStart(12, "0")}`;
}

function messageOf({ payload }: Sender, n: number): string {
  return n % 9 === 0 ? HOSTILE[n % HOSTILE.length]! : JSON.stringify(payload(n), undefined, 2);
}

interface Moment {
  n: number;
  at: number;
}

function toEvent(sender: Sender, { n, at }: Moment): { event: NewEvent; action: AgentAction; runId: string } {
  const { hook, event: name, subject, payload, session } = sender;
  const body = Buffer.from(JSON.stringify(payload(n)));
  const action: AgentAction = {
    kind: "agent",
    message: messageOf(sender, n),
    name: hook,
    trustedName: true,
    sessionKey: session(n),
    wakeMode: "next-heartbeat",
    deliver: sender.to !== undefined,
    channel: sender.to?.channel ?? "last",
    to: sender.to?.to,
    timeoutSeconds: 600,
    allowUnsafeExternalContent: false,
  };
  const runId = idAt(at + 1);
  const event: NewEvent = {
    id: idAt(at),
    hook,
    mapping: hook,
    event: name,
    subject: subject?.(n),
    status: "accepted",
    receivedAt: at,
    credential: "token:default",
    request: {
      method: "POST",
      path: `/hooks/${hook}`,
      query: {},
      headers: { "content-type": "application/json", "user-agent": `${hook}-hookshot/1`, "x-delivery": `d-${n}` },
      contentType: "application/json",
      body,
      client: `203.0.113.${n % 20}`,
    },
    actions: [{ runId, action }],
    warnings: [],
    log: [],
    timings: { receiveMs: 0.4, verifyMs: 0.1, mappingMs: 0.6 },
  };
  return { event, action, runId };
}

async function endRun(journal: Journal, run: ClaimedRun, { sender, moment, event }: Planned): Promise<void> {
  const { n, at } = moment;
  const runId = run.id;
  const finishedAt = at + 1800 + (n % 40) * 130;
  const failure = failureOf(sender, n);
  if (failure !== undefined) {
    const text = `Hook ${sender.hook} (error): ${failure}`;
    const entry: NewEntry = { sessionKey: "main", role: "system", text, at: finishedAt, eventId: event.id, runId };
    await journal.deadLetterRun(run, { finishedAt, error: failure, entries: [entry] });
    return;
  }
  if (sender.hook === "support" && n % 24 < 12) await addSteps(journal, run, at);
  await journal.completeRun(run, {
    finishedAt,
    reply: sender.reply(n),
    model: n % 3 ? "openai/gpt-5-mini" : "anthropic/claude-haiku-5",
    usage: { inputTokens: 900 + (n % 50) * 20, outputTokens: 80 + (n % 30) },
    cost: sender.cost,
    warnings: [],
    entries: toEntries(sender, event, { runId, finishedAt, n }),
    deliveries: toDeliveries(sender, event, runId),
  });
}

/** One error for many events, with other numbers and ids in it. */
function failureOf({ hook }: Sender, n: number): string | undefined {
  const nth = Math.floor(n / SENDERS.length);
  if (hook === "sentry" && nth % 2 === 0)
    return `openai answered 400: context_length_exceeded, ${180_000 + n} of 128000 tokens`;
  if (hook === "grafana" && nth % 6 === 0) return `The command ended with status 1 after ${n} ms.`;
  if (hook === "slack" && nth % 11 === 0) return `timed out after 600 s in the session "slack:C${n}"`;
  return undefined;
}

function toDeliveries({ to, reply }: Sender, { id, receivedAt }: NewEvent, runId: string): NewDelivery[] {
  if (!to) return [];
  return [{ id: idAt(receivedAt + 2), runId, eventId: id, ...to, routeBy: "operator", text: reply(0) }];
}

function toEntries(
  sender: Sender,
  event: NewEvent,
  { runId, finishedAt, n }: { runId: string; finishedAt: number; n: number },
): NewEntry[] {
  const own = { eventId: event.id, runId };
  const sessionKey = sender.session(n);
  const origin = { source: `webhook ${sender.hook}`, hook: sender.hook };
  const allowed = { allowUnsafeExternalContent: false };
  const summary = protect(sender.reply(n), { ...allowed, before: `Hook ${sender.hook}: ` }, origin);
  return [
    {
      sessionKey,
      role: "user",
      ...protect(messageOf(sender, n), allowed, origin),
      at: event.receivedAt,
      ...own,
    },
    { sessionKey, role: "assistant", text: sender.reply(n), at: finishedAt, ...own },
    { sessionKey: "main", role: "system", ...summary, at: finishedAt, ...own },
  ];
}

async function addSteps(journal: Journal, run: { id: string; token: number }, at: number): Promise<void> {
  const steps: Step[] = [
    {
      n: 1,
      kind: "context",
      state: "done",
      title: "The ticket",
      call: "tickets.show",
      text: '{"id":300,"state":"open"}',
      sources: ["tickets"],
      startedAt: at + 50,
      finishedAt: at + 210,
    },
    {
      n: 2,
      kind: "model",
      state: "done",
      model: "openai/gpt-5-mini",
      text: "I look at the account.",
      usage: { inputTokens: 800, outputTokens: 20 },
      cost: 0.001,
      sources: [],
      startedAt: at + 220,
      finishedAt: at + 1100,
    },
    {
      n: 3,
      kind: "call",
      state: "failed",
      call: "accounts.unlock",
      arguments: { account: "jo@example.com" },
      text: "429: too many requests",
      sources: ["accounts"],
      startedAt: at + 1110,
      finishedAt: at + 1400,
    },
  ];
  await journal.recordSteps(run, steps);
}

/** Turns that wait: held by the budget with others behind them, of a paused mapping, and a waiting attempt. */
async function addOpen(journal: Journal, n: number, at: number): Promise<void> {
  const sender = SENDERS.find(({ hook }) => hook === ["support", "grafana", "linear"][n % 3])!;
  const { event } = toEvent(sender, { n: 900 + n, at });
  await journal.accept(event);
  if (n >= 2) return;
  const [run] = await journal.claimRuns(1, at + 10);
  if (run) await journal.holdRun(run, "budget: perDay");
}

/** Requests that the service refuses. */
export async function refuseSome(url: string): Promise<void> {
  const post = (hook: string, token: string): Promise<Response> =>
    fetch(`${url}/hooks/${hook}`, { method: "POST", headers: { authorization: `Bearer ${token}` }, body: "{}" });
  for (let count = 0; count < 5; count++) await post("github", "wrong");
  await post("nothing", HOOK_TOKEN);
}
