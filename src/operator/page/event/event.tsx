import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { replay } from "../parts/actions.tsx";
import { Title } from "../parts/title.tsx";
import { readBody, type Timeline } from "../api-client.ts";
import { changes, feed } from "../live.ts";
import { Copy, Detail, download, Pairs, State, Time, Warnings } from "../parts/controls.tsx";
import { escapeHidden, formatMs, outcomeBeside, parseJson, toLine } from "../parts/format.ts";
import { hasDraft, useDraft } from "../parts/draft.ts";
import { Loading, useCall, useLoad } from "../parts/load.tsx";
import { Tree } from "../parts/tree.tsx";
import { hrefTo } from "../router.ts";
import { Refused } from "./refused.tsx";
import { Steps } from "./timeline.tsx";

/** One request: what came, what was made of it, and what became of that. */
export function Event({ id }: { id: string }): JSX.Element {
  void changes.value;
  const row = feed.find(id);
  return row?.refusal ? <Refused refusal={row.refusal} /> : <Accepted id={id} revision={row?.revision ?? -1} />;
}

function Accepted({ id, revision }: { id: string; revision: number }): JSX.Element {
  const loaded = useCall("GET /api/events/:id", { id }, revision);
  return (
    <section class="page event" data-event={id}>
      {loaded.error !== undefined && !loaded.data && <Title text="Event" />}
      <Loading from={loaded}>{(event) => <Details event={event} />}</Loading>
    </section>
  );
}

function Details({ event }: { event: Timeline }): JSX.Element {
  const { id, hook, mapping, event: name, subject, credential, replayOf, replayedBy, request } = event;
  const [isEdited, setEdited] = useState(() => hasDraft(`replay ${id}`));
  const hasBody = request.payload !== "";
  return (
    <>
      <header>
        <Title text={`${toLine(hook, 40)} ${toLine(subject ?? name, 60)}`}>
          <b>{toLine(hook, 80)}</b>
          {name !== undefined && <span> {toLine(name, 80)}</span>}
        </Title>
        {subject !== undefined && <p class="subject">{escapeHidden(subject)}</p>}
        <Verdict event={event} />
        <p class="facts">
          <Time at={event.receivedAt} />
          {mapping !== undefined && (
            <span>
              mapping <a href={hrefTo(["mappings", mapping])}>{toLine(mapping, 80)}</a>
            </span>
          )}
          {credential !== undefined && (
            <span>
              credential <a href={hrefTo(["activity"], { credential })}>{toLine(credential, 80)}</a>
            </span>
          )}
          {replayOf !== undefined && <a href={hrefTo(["events", replayOf])}>replay of an earlier event</a>}
          {replayedBy !== undefined && <a href={hrefTo(["events", replayedBy])}>replayed as a new event</a>}
          <span>
            <code>{id}</code> <Copy text={id} label="Copy id" />
          </span>
        </p>
        <p class="actions">
          <button class="main" disabled={!hasBody} onClick={() => void replay(id)}>
            Replay <kbd>r</kbd>
          </button>
          <button disabled={!hasBody} aria-expanded={isEdited} onClick={() => setEdited(!isEdited)}>
            Edit and replay
          </button>
          <a
            class="button"
            href={hrefTo(mapping === undefined ? ["mappings", "new"] : ["mappings", mapping, "edit"], { event: id })}
          >
            Open in playground
          </a>
          {mapping !== undefined && (
            <a class="button" href={hrefTo(["mappings", "new"], { event: id })}>
              Make a mapping
            </a>
          )}
          <button onClick={() => saveSample(event)}>Save as sample</button>
        </p>
      </header>
      {isEdited && <EditedReplay event={event} />}
      <Warnings texts={event.warnings} />
      <div class="columns">
        <div>
          <h2>What happened</h2>
          <Steps event={event} />
        </div>
        <div>
          <Payload id={id} value={request.payload} />
          <h2>Request</h2>
          <Pairs pairs={{ [request.method]: request.path, client: request.client }} />
          {Object.keys(request.query).length > 0 && <Pairs label="Query" pairs={request.query} />}
          <Pairs label="Headers" pairs={request.headers} />
        </div>
      </div>
    </>
  );
}

/** The event's outcome in one line, with a link to the turn that it waits for. */
function Verdict({ event: { status, outcome, durationMs, runs } }: { event: Timeline }): JSX.Element {
  const wait = runs.find(({ waitsFor }) => waitsFor?.eventId !== undefined)?.waitsFor;
  return (
    <p class="verdict">
      <State state={status} /> <b>{escapeHidden(outcomeBeside(status, outcome))}</b>
      {durationMs !== undefined && <span class="quiet">{formatMs(durationMs)} in all</span>}
      {wait?.eventId !== undefined && <a href={hrefTo(["events", wait.eventId])}>the turn before it</a>}
    </p>
  );
}

/** The payload as a tree, or the bytes that it was made of. */
function Payload({ id, value }: { id: string; value: unknown }): JSX.Element {
  const [isRaw, setRaw] = useState(false);
  return (
    <>
      <h2>
        Payload{" "}
        <button class="small" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          Raw
        </button>
      </h2>
      {isRaw ? <RawBody id={id} /> : <Tree value={value} />}
      {value !== "" && <Copy text={JSON.stringify(value, undefined, 2)} label="Copy the payload" />}
    </>
  );
}

function RawBody({ id }: { id: string }): JSX.Element {
  const loaded = useLoad(`body ${id}`, () => readBody(id), 0);
  return <Loading from={loaded}>{(text) => <Detail text={text} />}</Loading>;
}

function EditedReplay({ event }: { event: Timeline }): JSX.Element {
  const draft = useDraft(`replay ${event.id}`, () => JSON.stringify(event.request.payload, undefined, 2));
  const text = draft.work;
  const parsed = parseJson(text);
  return (
    <form
      class="panel"
      onSubmit={(submitted) => {
        submitted.preventDefault();
        if (parsed.error === undefined) void replay(event.id, parsed.value).then((isDone) => isDone && draft.discard());
      }}
    >
      <label>
        Payload
        <textarea
          rows={14}
          spellcheck={false}
          value={text}
          onInput={(input) => draft.change(input.currentTarget.value)}
        />
      </label>
      {parsed.error !== undefined && <p class="problem">{escapeHidden(parsed.error)}</p>}
      <button class="main" disabled={parsed.error !== undefined}>
        Replay with this payload
      </button>
    </form>
  );
}

/** The files that `webhooks test` runs: the body, and the headers that are not secret. */
function saveSample({ hook, event, request, receivedAt }: Timeline): void {
  const name = (event ?? hook).replaceAll(/[^\w.-]+/g, "-") || "sample";
  const { "content-type": _type, "content-length": _length, host: _host, ...headers } = request.headers;
  download(`${name}.json`, request.payload);
  download(`${name}.request.json`, { headers, query: request.query, now: receivedAt });
}
