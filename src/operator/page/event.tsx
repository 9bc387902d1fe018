import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { type DeliveryView, get, post, type RunView, type Timeline } from "./api.ts";
import { changes, findRow } from "./live.ts";
import { notify } from "./notice.tsx";
import {
  Copy,
  download,
  formatCost,
  formatMs,
  formatNumber,
  Loading,
  State,
  Text,
  Time,
  toLine,
  toVisible,
  useLoad,
} from "./parts.tsx";
import { Tree } from "./payload.tsx";
import { goTo, hrefTo } from "./router.ts";
import { Entry, Prompt } from "./sessions.tsx";

/** One request: what came, what was made of it, and what became of that. */
export function Event({ id }: { id: string }): JSX.Element {
  void changes.value;
  const loaded = useLoad(`event ${id}`, () => get("/api/events/:id", { id }), findRow(id)?.revision ?? -1);
  return (
    <section class="page event" data-event={id}>
      <Loading from={loaded}>{(event) => <Details event={event} />}</Loading>
    </section>
  );
}

function Details({ event }: { event: Timeline }): JSX.Element {
  const { id, hook, mapping, event: name, status, replayOf, request, warnings, entries } = event;
  const [isEdited, setEdited] = useState(false);
  const hasBody = request.payload !== "";
  return (
    <>
      <header>
        <h1>
          <b>{toLine(hook, 80)}</b>
          {name !== undefined && <span> {toLine(name, 80)}</span>}
        </h1>
        <p class="facts">
          <State state={status} />
          <Time at={event.receivedAt} />
          {mapping !== undefined && <a href={hrefTo(["mappings", mapping])}>{toLine(mapping, 80)}</a>}
          <code>{id}</code> <Copy text={id} label="Copy id" />
          {replayOf !== undefined && <a href={hrefTo(["events", replayOf])}>replay of an earlier event</a>}
        </p>
        <p class="actions">
          <button type="button" class="main" disabled={!hasBody} onClick={() => void replay(id)}>
            Replay <kbd>r</kbd>
          </button>
          <button type="button" disabled={!hasBody} aria-expanded={isEdited} onClick={() => setEdited(!isEdited)}>
            Edit and replay
          </button>
          <a class="button" href={hrefTo(["playground"], { event: id })}>
            Open in playground
          </a>
          <button type="button" onClick={() => saveSample(event)}>
            Save as sample
          </button>
        </p>
      </header>
      {isEdited && <EditedReplay event={event} />}
      {warnings.map((warning) => (
        <p key={warning} class="problem mild">
          {toVisible(warning)}
        </p>
      ))}
      <div class="columns">
        <div>
          <h2>What happened</h2>
          <Steps event={event} />
        </div>
        <div>
          <h2>Payload</h2>
          <Tree value={request.payload} />
          <h2>Request</h2>
          <Pairs pairs={{ [request.method]: request.path, client: request.client }} />
          {Object.keys(request.query).length > 0 && <Pairs label="Query" pairs={request.query} />}
          <Pairs label="Headers" pairs={request.headers} />
        </div>
      </div>
      {entries.some(({ role }) => role !== "system") && (
        <>
          <h2>Prompt and reply</h2>
          <div class="conversation">
            {entries
              .filter(({ role }) => role !== "system")
              .map((entry) => (
                <Entry key={entry.seq} entry={entry} />
              ))}
          </div>
        </>
      )}
    </>
  );
}

/** Runs it again as a new event, and goes there. */
export async function replay(id: string, payload?: unknown): Promise<void> {
  try {
    const body = payload === undefined ? {} : { payload };
    const answer: unknown = await post("/api/events/:id/replay", { id }, { body });
    const eventId = typeof answer === "object" && answer !== null && "eventId" in answer ? answer.eventId : undefined;
    notify("Replayed as a new event.");
    if (typeof eventId === "string") goTo(["events", eventId]);
  } catch (error) {
    notify(`Not replayed: ${error instanceof Error ? error.message : String(error)}`, "bad");
  }
}

function EditedReplay({ event }: { event: Timeline }): JSX.Element {
  const [text, setText] = useState(() => JSON.stringify(event.request.payload, undefined, 2));
  const parsed = parse(text);
  return (
    <form
      class="panel"
      onSubmit={(submitted) => {
        submitted.preventDefault();
        if (parsed.error === undefined) void replay(event.id, parsed.value);
      }}
    >
      <label>
        Payload
        <textarea rows={14} spellcheck={false} value={text} onInput={(input) => setText(input.currentTarget.value)} />
      </label>
      {parsed.error !== undefined && <p class="problem">{toVisible(parsed.error)}</p>}
      <button class="main" disabled={parsed.error !== undefined}>
        Replay with this payload
      </button>
    </form>
  );
}

export function parse(text: string): { value?: unknown; error?: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { error: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** The files that `webhooks test` runs: the body, and the headers that are not secret. */
function saveSample({ hook, event, request, receivedAt }: Timeline): void {
  const name = (event ?? hook).replaceAll(/[^\w.-]+/g, "-") || "sample";
  const { "content-type": _type, "content-length": _length, host: _host, ...headers } = request.headers;
  download(`${name}.json`, request.payload);
  download(`${name}.request.json`, { headers, query: request.query, now: receivedAt });
}

interface StepProps {
  name: string;
  /** Of its end. */
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

function Steps({ event }: { event: Timeline }): JSX.Element {
  const { request, credential, receivedAt, error, status, reason, log, took, actions, runs, deliveries, summary } =
    event;
  const isAccepted = error === undefined && actions.length > 0;
  return (
    <ol class="timeline">
      <Step name="Received" at={receivedAt} tone="good">
        {request.method} <Text>{request.path}</Text> from {request.client}
        {request.contentType && <span class="quiet"> {toLine(request.contentType, 80)}</span>}
      </Step>
      {credential !== undefined && (
        <Step name="Verified" tone="good">
          {credential}
        </Step>
      )}
      <Mapped event={event} />
      <Transformed log={log} tookMs={took?.transformMs} />
      {error !== undefined && (
        <Step name={status === "rejected" ? "Refused" : "Failed"} tone={status === "rejected" ? "warn" : "bad"}>
          <b>{error.code}</b> {toVisible(error.message)}
          {error.detail !== undefined && (
            <pre class="detail" tabIndex={0}>
              {toVisible(error.detail)}
            </pre>
          )}
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
    return error ? null : <Step name="Mapped">{`The service answers ${toLine(hook, 60)} itself.`}</Step>;
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
      <pre class="log">
        {log.map(({ level, text }, index) => (
          <div key={index} class={`level-${level}`}>
            <span class="quiet">{level}</span> {toVisible(text)}
          </div>
        ))}
      </pre>
    </Step>
  );
}

export function SessionLink({ sessionKey }: { sessionKey: string }): JSX.Element {
  return <a href={hrefTo(["sessions", sessionKey])}>{toLine(sessionKey, 48)}</a>;
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
        {error !== undefined && (
          <pre class="detail" tabIndex={0}>
            {toVisible(error)}
          </pre>
        )}
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
      {error !== undefined && (
        <pre class="detail" tabIndex={0}>
          {toVisible(error)}
        </pre>
      )}
    </Step>
  );
}

function Pairs({ label, pairs }: { label?: string; pairs: Record<string, string> }): JSX.Element {
  return (
    <>
      {label !== undefined && <h3>{label}</h3>}
      <dl class="pairs">
        {Object.entries(pairs).map(([name, value]) => (
          <div key={name}>
            <dt>{toVisible(name)}</dt>
            <dd>
              <Text max={500}>{value}</Text>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
