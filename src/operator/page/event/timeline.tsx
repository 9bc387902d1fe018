import type { ComponentChildren, JSX } from "preact";
import { type DeliveryView, call, type FailedAttemptView, type RunView, type Timeline } from "../api-client.ts";
import { Detail, notifyOf, State, Text, Time, Warnings } from "../parts/controls.tsx";
import { escapeHidden, formatCost, formatMs, formatNumber, toLine } from "../parts/format.ts";
import { cancelRun, isAsking, isReleasable, isUnfinished, releaseRuns } from "../parts/actions.tsx";
import { Log, Prompt, SessionLink, Wait, Words } from "../parts/conversation.tsx";
import { hrefTo } from "../router.ts";

interface StepProps {
  name: string;
  /** Time of its end. */
  at?: string;
  ms?: number;
  tone?: "good" | "bad" | "warn" | "live";
  children?: ComponentChildren;
}

function Step({ name, at, ms, tone, children }: StepProps): JSX.Element {
  return (
    <li class={tone}>
      <h3>{name}</h3>
      <span class="when">
        {ms !== undefined && <b>{formatMs(ms)}</b>} {at !== undefined && <Time at={at} />}
      </span>
      <div>{children}</div>
    </li>
  );
}

export function Steps({ event }: { event: Timeline }): JSX.Element {
  const { request, credential, receivedAt, error, status, reason, log, timings, actions, summary } = event;
  const isAccepted = error === undefined && actions.length > 0;
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
        <Step name={status === "refused" ? "Refused" : "Failed"} tone={status === "refused" ? "warn" : "bad"}>
          <b>{error.code}</b> {escapeHidden(error.message)}
          <Detail text={error.detail} isError />
        </Step>
      )}
      {status === "skipped" && <Step name="Skipped">{escapeHidden(reason ?? "There was no action.")}</Step>}
      {isAccepted && (
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
        <RunSteps key={run.id} run={run} />
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

const msBetween = (from: string | undefined, to: string | undefined): number | undefined =>
  from === undefined || to === undefined ? undefined : Math.max(0, Date.parse(to) - Date.parse(from));

function RunSteps({ run }: { run: RunView }): JSX.Element {
  const { state, attempts, createdAt, dueAt, startedAt, finishedAt, model, error, warnings } = run;
  const { holdReason, waitingFor, waitsFor, reply, failedAttempts = [], steps = [] } = run;
  const earlier = failedAttempts.filter(({ endedAt }) => endedAt === undefined || endedAt !== finishedAt);
  const last = failedAttempts.find(({ endedAt }) => endedAt !== undefined && endedAt === finishedAt);
  const firstAt = earlier[0]?.n === 1 ? earlier[0].startedAt : startedAt;
  const isWaiting = state === "waiting" || state === "held";
  const tone = state === "done" ? "good" : state === "failed" || state === "canceled" ? "bad" : error ? "warn" : "live";
  return (
    <>
      {firstAt !== undefined && <Step name="Waited" ms={msBetween(createdAt, firstAt)} at={firstAt} tone="good" />}
      {[...steps, ...earlier]
        .toSorted((one, other) => one.startedAt.localeCompare(other.startedAt))
        .map((each) =>
          "kind" in each ? (
            <RecordedStep key={`step ${each.n}`} step={each} />
          ) : (
            <AttemptStep key={`attempt ${each.n}`} attempt={each} isFirst={each === earlier[0]} />
          ),
        )}
      <Step name="Turn" ms={msBetween(startedAt, finishedAt)} at={finishedAt} tone={tone}>
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
        {state === "failed" && <RetryButton id={run.id} />}
        {waitsFor && (
          <p>
            <Wait wait={waitsFor} />
          </p>
        )}
        <Warnings texts={warnings ?? last?.warnings} look="quiet" />
        {reply !== undefined && (
          <div class="entry assistant">
            <Words text={reply.trim() || "(no text)"} />
          </div>
        )}
        {isUnfinished(run) && (
          <p class="actions">
            {isReleasable(run) && (
              <button onClick={() => void releaseRuns({ run: run.id }, "This turn")}>Release</button>
            )}
            <button onClick={() => void cancelRun(run)}>Cancel the turn</button>
          </p>
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
    <Step name={STEP_NAMES[kind]} ms={msBetween(startedAt, finishedAt)} at={finishedAt} tone={tone}>
      <p class="facts">
        <Text>{name ?? model}</Text>
        {title !== undefined && <span>{toLine(title, 80)}</span>}
        {state !== "done" && <b>{state}</b>}
        {sources.length > 0 && <span class="quiet">private: {toLine(sources.join(", "), 120)}</span>}
        <Usage run={step} />
      </p>
      {given !== undefined && <Detail text={JSON.stringify(given, null, 2)} />}
      <Folded text={text} isError={state === "failed"} />
    </Step>
  );
}

const MAX_OPEN = 600;

/** An attempt of a turn or a delivery that failed, before the last one. */
function AttemptStep({ attempt, isFirst }: { attempt: FailedAttemptView; isFirst: boolean }): JSX.Element {
  const { n, startedAt, endedAt, error, warnings } = attempt;
  return (
    <Step name={`Attempt ${n} failed`} ms={msBetween(startedAt, endedAt)} at={endedAt ?? startedAt} tone="warn">
      {isFirst && n > 1 && <span class="quiet">The {n - 1} before it are not kept.</span>}
      <Detail text={error} isError />
      <Warnings texts={warnings ?? []} look="quiet" />
    </Step>
  );
}

function Folded({ text, isError }: { text: string | undefined; isError: boolean }): JSX.Element | null {
  if (text === undefined || text.length <= MAX_OPEN) return <Detail text={text || undefined} isError={isError} />;
  return (
    <details>
      <summary>{formatNumber(text.length)} characters</summary>
      <Detail text={text} isError={isError} />
    </details>
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

function DeliveryStep({ delivery }: { delivery: DeliveryView }): JSX.Element {
  const { state, channel, to, route, attempts, partsSent, startedAt, sentAt, error, warnings } = delivery;
  const { failedAttempts = [] } = delivery;
  const sentBy = route?.channel ?? channel;
  const hasEnded = state === "failed" || state === "canceled";
  const earlier = hasEnded ? failedAttempts.slice(0, -1) : failedAttempts;
  const tone = state === "sent" ? "good" : state === "failed" ? "bad" : error ? "warn" : "live";
  return (
    <>
      {earlier.map((attempt, index) => (
        <AttemptStep key={attempt.n} attempt={attempt} isFirst={index === 0} />
      ))}
      <Step name="Delivery" ms={msBetween(startedAt, sentAt)} at={sentAt} tone={state === "skipped" ? undefined : tone}>
        <p class="facts">
          <State state={state} /> <a href={hrefTo(["activity"], { channel: sentBy })}>{sentBy}</a>
          <Text>{route?.to ?? to}</Text>
          {route?.thread !== undefined && <Text>{`in thread ${route.thread}`}</Text>}
          {partsSent > 1 && <span>in {partsSent} parts</span>}
          {attempts > 1 && <span>{attempts} attempts</span>}
        </p>
        {earlier.at(-1)?.error !== error && <Detail text={error} isError />}
        <Warnings texts={warnings} look="quiet" />
        {state === "failed" && <RetryButton id={delivery.id} />}
      </Step>
    </>
  );
}

/** Gives a dead letter all its attempts again. */
function RetryButton({ id }: { id: string }): JSX.Element {
  const retry = (): void =>
    void notifyOf(call("POST /api/dead-letters/:id/retry", { id }), () => "It will run again.", "Not retried");
  return (
    <p class="actions">
      <button onClick={retry}>Retry</button>
    </p>
  );
}
