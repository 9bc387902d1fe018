import type { ComponentChildren, JSX } from "preact";
import type { DeliveryView, FailedAttemptView, RunView, Timeline } from "../api-client.ts";
import { Detail, State, Text, Time, Warnings } from "../parts/controls.tsx";
import { escapeHidden, formatCost, formatMs, formatNumber, toLine } from "../parts/format.ts";
import { Act, isAsking, RunActions } from "../parts/actions.tsx";
import { Log, Prompt, SessionLink, Wait, Words } from "../parts/conversation.tsx";
import { hrefTo } from "../router.ts";

interface StepProps {
  name: string;
  /** Time of its end. */
  at?: string;
  /** Time of its start, or else how long it took. */
  from?: string;
  ms?: number;
  tone?: "good" | "bad" | "warn" | "live";
  error?: string;
  warnings?: readonly string[];
  children?: ComponentChildren;
}

function Step({ name, at, from, ms, tone, error, warnings = [], children }: StepProps): JSX.Element {
  const took = from && at ? Math.max(0, Date.parse(at) - Date.parse(from)) : ms;
  return (
    <li class={tone}>
      <h3>{name}</h3>
      <span>
        {took !== undefined && <b>{formatMs(took)}</b>} {at !== undefined && <Time at={at} />}
      </span>
      <div>
        {children}
        <Detail text={error} isError />
        <Warnings texts={warnings} look="quiet" />
      </div>
    </li>
  );
}

export function Steps({ event }: { event: Timeline }): JSX.Element {
  const { request, credential, receivedAt, error, status, reason, log, timings, actions, summary } = event;
  const isRefused = status === "refused";
  return (
    <ol class="timeline">
      <Step name="Received" at={receivedAt} ms={timings?.receiveMs} tone="good">
        {request.method} <Text>{request.path}</Text> from {request.client}
        {request.contentType && <span class="quiet"> {toLine(request.contentType, 80)}</span>}
      </Step>
      {credential !== undefined && (
        <Step name="Verified" ms={timings?.verifyMs} tone="good">
          {credential}
        </Step>
      )}
      <Mapped event={event} />
      {(log.length > 0 || timings?.transformMs !== undefined) && (
        <Step name="Transform" ms={timings?.transformMs} tone={error?.code === "transform_failed" ? "bad" : "good"}>
          <Log log={log} />
        </Step>
      )}
      {error !== undefined && (
        <Step name={isRefused ? "Refused" : "Failed"} tone={isRefused ? "warn" : "bad"} error={error.detail}>
          <b>{error.code}</b> {escapeHidden(error.message)}
        </Step>
      )}
      {status === "skipped" && <Step name="Skipped">{escapeHidden(reason ?? "There was no action.")}</Step>}
      {error === undefined && actions.length > 0 && (
        <Step name="Committed" tone="good">
          {actions.map(({ kind, mode, sessionKey, coalesced }, index) => (
            <div key={index}>
              {kind} {mode} {sessionKey !== undefined && <SessionLink sessionKey={sessionKey} />}
              {coalesced && <span class="quiet"> joined the turn of an earlier request</span>}
            </div>
          ))}
        </Step>
      )}
      {event.runs.map((run) => (
        <RunSteps key={run.id} run={run} event={event} />
      ))}
      {summary !== undefined && (
        <Step name="Summary" tone="good">
          in <SessionLink sessionKey="main" />
          <Prompt text={summary} />
        </Step>
      )}
      {event.deliveries.map((delivery) => (
        <DeliveryStep key={delivery.id} delivery={delivery} />
      ))}
    </ol>
  );
}

function Mapped({ event: { mapping, error, hook, timings, actions } }: { event: Timeline }): JSX.Element | null {
  if (mapping === undefined && actions.length > 0)
    return <Step name="Mapped">{`${toLine(hook, 60)} is a hook of the service itself.`}</Step>;
  if (mapping === undefined) return error ? null : <Step name="Mapped">No mapping took it.</Step>;
  return (
    <Step name="Mapped" ms={timings?.mappingMs} tone="good">
      <a href={hrefTo(["mappings", mapping])}>{toLine(mapping, 80)}</a>
    </Step>
  );
}

function RunSteps({ run, event }: { run: RunView; event: Timeline }): JSX.Element {
  const { state, attempts, createdAt, dueAt, startedAt, finishedAt, model, error, warnings } = run;
  const { holdReason, waitingFor, waitsFor, reply, failedAttempts = [], steps = [] } = run;
  const last = failedAttempts.find(({ endedAt }) => endedAt !== undefined && endedAt === finishedAt);
  const earlier = failedAttempts.filter((attempt) => attempt !== last);
  const firstAt = earlier[0]?.n === 1 ? earlier[0].startedAt : startedAt;
  const isWaiting = state === "waiting" || state === "held";
  const tone = state === "done" ? "good" : state === "failed" || state === "canceled" ? "bad" : error ? "warn" : "live";
  const asked = event.entries.find(({ role, runId }) => role === "user" && runId === run.id)?.text;
  const prompt = asked ?? run.action?.message;
  return (
    <>
      {firstAt !== undefined && <Step name="Waited" from={createdAt} at={firstAt} tone="good" />}
      {[...steps, ...earlier]
        .toSorted((one, other) => one.startedAt.localeCompare(other.startedAt))
        .map((each) =>
          "kind" in each ? <RecordedStep key={`step ${each.n}`} step={each} /> : toAttempt(each, earlier),
        )}
      <Step name="Turn" from={startedAt} at={finishedAt} tone={tone} warnings={warnings ?? last?.warnings}>
        <p class="facts">
          <State state={state} />
          {holdReason !== undefined && <span class="warn">{escapeHidden(holdReason)}</span>}
          {isAsking(run) && <a href={hrefTo(["inbox", run.approvalId ?? ""])}>Decide</a>}
          {waitingFor !== undefined && <span>waiting for {toLine(waitingFor, 60)}</span>}
          {isWaiting && error !== undefined && <Time at={dueAt} before="next attempt" />}
          {attempts > 1 && <span>{attempts} attempts</span>}
          {model !== undefined && <a href={hrefTo(["activity"], { model })}>{toLine(model, 60)}</a>}
          <Usage run={run} />
        </p>
        {earlier.at(-1)?.error !== error && <Detail text={error} isError />}
        {waitsFor && <Wait wait={waitsFor} />}
        <RunActions run={run} />
        {reply !== undefined && (
          <div class="entry assistant">
            <Words text={reply.trim() || "(no text)"} />
          </div>
        )}
        {prompt !== undefined && (
          <details open={reply === undefined}>
            <summary class="quiet">Prompt</summary>
            <Prompt text={prompt} />
          </details>
        )}
      </Step>
    </>
  );
}

const STEP_NAMES = { context: "Context", model: "Answer", call: "Call", note: "Note" };

/** Something that the turn read, an answer of the model, or a call that the model asked for. */
function RecordedStep({ step }: { step: NonNullable<RunView["steps"]>[number] }): JSX.Element {
  const { kind, state, call: name, title, model, arguments: given, text, sources, startedAt, finishedAt } = step;
  const tone = state === "done" ? "good" : state === "running" ? "live" : "warn";
  return (
    <Step name={STEP_NAMES[kind]} from={startedAt} at={finishedAt} tone={tone}>
      <p class="facts">
        <Text>{name ?? model}</Text>
        {title !== undefined && <span>{toLine(title, 80)}</span>}
        {state !== "done" && <b>{state}</b>}
        {sources.length > 0 && <span class="quiet">private: {toLine(sources.join(", "), 120)}</span>}
        <Usage run={step} />
      </p>
      {given !== undefined && <Detail text={JSON.stringify(given, null, 2)} />}
      <Detail text={text || undefined} isError={state === "failed"} />
    </Step>
  );
}

/** An attempt of a turn or a message that failed, of those before the last one. */
function toAttempt(attempt: FailedAttemptView, [first]: FailedAttemptView[]): JSX.Element {
  const { n, startedAt, endedAt, error, warnings } = attempt;
  return (
    <Step
      key={`attempt ${n}`}
      name={`Attempt ${n} failed`}
      from={endedAt && startedAt}
      at={endedAt ?? startedAt}
      tone="warn"
      error={error}
      warnings={warnings}
    >
      {attempt === first && n > 1 && <span class="quiet">The {n - 1} before it are not kept.</span>}
    </Step>
  );
}

function Usage({ run: { usage, cost } }: { run: Pick<RunView, "usage" | "cost"> }): JSX.Element | null {
  if (!usage) return null;
  const { inputTokens = 0, outputTokens = 0 } = usage;
  return (
    <span class="quiet">
      {formatNumber(inputTokens)} tokens in, {formatNumber(outputTokens)} out{cost ? `, cost ${formatCost(cost)}` : ""}
    </span>
  );
}

const TONES: Partial<Record<string, StepProps["tone"]>> = {
  sent: "good",
  failed: "bad",
  waiting: "live",
  running: "live",
};

function DeliveryStep({ delivery }: { delivery: DeliveryView }): JSX.Element {
  const { id, state, channel, to, route, attempts, partsSent, startedAt, sentAt, error, warnings } = delivery;
  const { failedAttempts = [] } = delivery;
  const sentBy = route?.channel ?? channel;
  const earlier = state === "failed" || state === "canceled" ? failedAttempts.slice(0, -1) : failedAttempts;
  return (
    <>
      {earlier.map((attempt) => toAttempt(attempt, earlier))}
      <Step name="Delivery" from={startedAt} at={sentAt} tone={TONES[state]} warnings={warnings}>
        <p class="facts">
          <State state={state} /> <a href={hrefTo(["activity"], { channel: sentBy })}>{sentBy}</a>
          <Text>{route?.to ?? to}</Text>
          {route?.thread !== undefined && <Text>{`in thread ${route.thread}`}</Text>}
          {partsSent > 1 && <span>in {partsSent} parts</span>}
          {attempts > 1 && <span>{attempts} attempts</span>}
        </p>
        {earlier.at(-1)?.error !== error && <Detail text={error} isError />}
        {state === "failed" && <Act name="Retry" id={id} of="the message" />}
      </Step>
    </>
  );
}
