import type { ComponentChildren, JSX } from "preact";
import { type DeliveryView, call, type RunView, type Timeline } from "../api.ts";
import {
  Detail,
  formatCost,
  formatMs,
  formatNumber,
  notifyOf,
  State,
  Text,
  Time,
  toLine,
  toVisible,
} from "../parts/controls.tsx";
import { Log, Prompt, SessionLink } from "../parts/conversation.tsx";
import { hrefTo } from "../router.ts";

interface StepProps {
  name: string;
  /** Time of its end. */
  at?: string;
  tookMs?: number;
  tone?: "good" | "bad" | "warn" | "live";
  children?: ComponentChildren;
}

function Step({ name, at, tookMs, tone, children }: StepProps): JSX.Element {
  return (
    <li class={tone}>
      <h3>{name}</h3>
      <span class="when">
        {tookMs !== undefined && <b>{formatMs(tookMs)}</b>} {at !== undefined && <Time at={at} />}
      </span>
      <div>{children}</div>
    </li>
  );
}

/** The steps of the request. */
export function Steps({ event }: { event: Timeline }): JSX.Element {
  const { request, credential, receivedAt, error, status, reason, log, took, actions, runs, deliveries, summary } =
    event;
  const isAccepted = error === undefined && actions.length > 0;
  return (
    <ol class="timeline">
      <Step name="Received" at={receivedAt} tookMs={took?.receiveMs} tone="good">
        {request.method} <Text>{request.path}</Text> from {request.client}
        {request.contentType && <span class="quiet"> {toLine(request.contentType, 80)}</span>}
      </Step>
      {credential !== undefined && (
        <Step name="Verified" tookMs={took?.verifyMs} tone="good">
          {credential}
        </Step>
      )}
      <Mapped event={event} />
      <Transformed log={log} tookMs={took?.transformMs} />
      {error !== undefined && (
        <Step name={status === "rejected" ? "Refused" : "Failed"} tone={status === "rejected" ? "warn" : "bad"}>
          <b>{error.code}</b> {toVisible(error.message)}
          <Detail text={error.detail} />
        </Step>
      )}
      {status === "skipped" && <Step name="Skipped">{toVisible(reason ?? "There was no action.")}</Step>}
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
      {runs.map((run) => (
        <RunSteps key={run.id} run={run} />
      ))}
      {summary !== undefined && (
        <Step name="Summary" tone="good">
          <Prompt text={summary} />
          <SessionLink sessionKey="main" />
        </Step>
      )}
      {deliveries.map((delivery) => (
        <DeliveryStep key={delivery.id} delivery={delivery} />
      ))}
    </ol>
  );
}

function Mapped({ event: { mapping, error, hook, took } }: { event: Timeline }): JSX.Element | null {
  if (mapping === undefined)
    return error ? null : <Step name="Mapped">{`${toLine(hook, 60)} is a hook of the service itself.`}</Step>;
  return (
    <Step name="Mapped" tookMs={took?.mappingMs} tone="good">
      <a href={hrefTo(["mappings", mapping])}>{toLine(mapping, 80)}</a>
    </Step>
  );
}

function Transformed({ log, tookMs }: { log: Timeline["log"]; tookMs?: number }): JSX.Element | null {
  if (log.length === 0 && tookMs === undefined) return null;
  return (
    <Step name="Transform" tookMs={tookMs} tone="good">
      <Log log={log} />
    </Step>
  );
}

const msBetween = (from: string | undefined, to: string | undefined): number | undefined =>
  from === undefined || to === undefined ? undefined : Math.max(0, Date.parse(to) - Date.parse(from));

function RunSteps({ run }: { run: RunView }): JSX.Element {
  const { state, attempts, createdAt, dueAt, startedAt, finishedAt, model, error, warnings, holdReason } = run;
  const isWaiting = state === "ready" || state === "queued" || state === "held";
  const tone = state === "done" ? "good" : state === "dead" || state === "dropped" ? "bad" : error ? "warn" : "live";
  return (
    <>
      {startedAt !== undefined && (
        <Step name="Waited" tookMs={msBetween(createdAt, startedAt)} at={startedAt} tone="good" />
      )}
      <Step name="Turn" tookMs={msBetween(startedAt, finishedAt)} at={finishedAt} tone={tone}>
        <State state={state} />
        {isWaiting && error !== undefined && (
          <span>
            {" "}
            next attempt <Time at={dueAt} />
          </span>
        )}
        {attempts > 1 && <span> {attempts} attempts</span>}
        {model !== undefined && <span> {toLine(model, 60)}</span>}
        <Usage run={run} />
        <Detail text={error} />
        {state === "dead" && <RetryButton id={run.id} />}
        {holdReason !== undefined && <p class="warn">{toVisible(holdReason)}</p>}
        {warnings.map((warning) => (
          <p key={warning} class="quiet">
            {toVisible(warning)}
          </p>
        ))}
      </Step>
    </>
  );
}

function Usage({ run: { usage, cost } }: { run: RunView }): JSX.Element | null {
  if (!usage) return null;
  const { inputTokens = 0, outputTokens = 0 } = usage;
  return (
    <span class="quiet">
      {" "}
      {formatNumber(inputTokens)} tokens in, {formatNumber(outputTokens)} out{cost ? `, cost ${formatCost(cost)}` : ""}
    </span>
  );
}

function DeliveryStep({ delivery }: { delivery: DeliveryView }): JSX.Element {
  const { state, channel, to, route, attempts, partsSent, createdAt, sentAt, error } = delivery;
  const tone = state === "sent" ? "good" : state === "failed" ? "bad" : error ? "warn" : "live";
  return (
    <Step
      name="Delivery"
      tookMs={msBetween(createdAt, sentAt)}
      at={sentAt}
      tone={state === "skipped" ? undefined : tone}
    >
      <State state={state} /> {route?.channel ?? channel} <Text>{route?.to ?? to}</Text>
      {partsSent > 1 && <span> in {partsSent} parts</span>}
      {attempts > 1 && <span> {attempts} attempts</span>}
      <Detail text={error} />
      {state === "failed" && <RetryButton id={delivery.id} />}
    </Step>
  );
}

/** Gives a dead letter all its attempts again. */
function RetryButton({ id }: { id: string }): JSX.Element {
  const retry = (): void =>
    void notifyOf(call("POST /api/dead-letters/:id/retry", { id }), () => "It will run again.", "Not retried");
  return (
    <p class="actions">
      <button type="button" onClick={retry}>
        Retry
      </button>
    </p>
  );
}
