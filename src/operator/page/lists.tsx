import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { DELIVERY_STATES, RUN_STATES } from "../../types.ts";
import { type DeadLetterView, get, post, remove, type RunView, type StatusView } from "./api.ts";
import { SessionLink } from "./event.tsx";
import { notify } from "./notice.tsx";
import {
  formatBytes,
  formatCost,
  formatMs,
  formatNumber,
  Loading,
  State,
  Table,
  Text,
  Time,
  toLine,
  useLoad,
} from "./parts.tsx";
import { hrefTo, route, setQuery } from "./router.ts";

const AT_ONCE = 200;

function EventLink({ id, row, children = "event" }: { id?: string; row?: string; children?: string }): JSX.Element {
  if (id === undefined) return <span class="quiet">{children}</span>;
  return (
    <a href={hrefTo(["events", id])} data-row={row} data-event={id}>
      {children}
    </a>
  );
}

/** A choice of states that is part of the place's URL. */
function StateFilter({ states }: { states: readonly string[] }): JSX.Element {
  const { state = "" } = route.value.query;
  return (
    <p class="choices" role="group" aria-label="State">
      {["", ...states].map((choice) => (
        <button
          key={choice}
          type="button"
          aria-pressed={state === choice}
          onClick={() => setQuery({ state: choice, before: "" })}
        >
          {choice || "all"}
        </button>
      ))}
    </p>
  );
}

/** Leads to what is older, when the list is full. */
function Older({ items }: { items: readonly { id: string }[] }): JSX.Element | null {
  const { path, query } = route.value;
  if (items.length < AT_ONCE) return null;
  return (
    <a class="button" href={hrefTo(path, { ...query, before: items.at(-1)?.id })}>
      Older
    </a>
  );
}

export function Runs(): JSX.Element {
  const { state, before } = route.value.query;
  const query = { state, before, limit: AT_ONCE };
  const loaded = useLoad(`runs ${state} ${before}`, () => get("/api/runs", query));
  return (
    <section class="page">
      <h1>Runs</h1>
      <StateFilter states={RUN_STATES} />
      {state === "held" && (
        <p class="actions">
          <button type="button" class="main" onClick={() => void release().then(loaded.reload)}>
            Release all held runs
          </button>
        </p>
      )}
      <Loading from={loaded}>
        {({ runs }) => (
          <>
            <Table
              label="Runs"
              items={runs}
              keyOf={({ id }) => id}
              empty={<p>No run is in this state.</p>}
              columns={[
                { name: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
                { name: "State", show: (run) => <State state={run.state} /> },
                {
                  name: "Hook",
                  show: ({ id, eventId, hook, kind }) => (
                    <EventLink id={eventId} row={id}>
                      {toLine(hook ?? kind, 60)}
                    </EventLink>
                  ),
                },
                { name: "Session", show: ({ sessionKey }) => <SessionLink sessionKey={sessionKey} /> },
                {
                  name: "Result",
                  kind: "wide",
                  show: ({ reply, error }) => <ResultText reply={reply} error={error} />,
                },
                { name: "Took", kind: "number", show: tookOf },
                { name: "Attempts", kind: "number", show: ({ attempts }) => attempts },
                { name: "Tokens", kind: "number", show: (run) => formatNumber(tokensOf(run)) },
                { name: "Cost", kind: "number", show: ({ cost }) => formatCost(cost) },
              ]}
            />
            <Older items={runs} />
          </>
        )}
      </Loading>
    </section>
  );
}

async function release(): Promise<void> {
  try {
    const { released } = await post("/api/runs/release");
    notify(`${released} runs may start.`);
  } catch (error) {
    notify(`Not released: ${error instanceof Error ? error.message : String(error)}`, "bad");
  }
}

function ResultText({ reply, error }: { reply?: string; error?: string }): JSX.Element {
  return error === undefined ? <span>{toLine(reply, 160)}</span> : <span class="bad">{toLine(error, 160)}</span>;
}

function tookOf({ startedAt, finishedAt }: RunView): string {
  return startedAt && finishedAt ? formatMs(Date.parse(finishedAt) - Date.parse(startedAt)) : "";
}

const tokensOf = ({ usage }: RunView): number => (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);

export function Deliveries(): JSX.Element {
  const { state, before } = route.value.query;
  const query = { state, before, limit: AT_ONCE };
  const loaded = useLoad(`deliveries ${state} ${before}`, () => get("/api/deliveries", query));
  return (
    <section class="page">
      <h1>Deliveries</h1>
      <StateFilter states={DELIVERY_STATES} />
      <Loading from={loaded}>
        {({ deliveries }) => (
          <>
            <Table
              label="Deliveries"
              items={deliveries}
              keyOf={({ id }) => id}
              empty={<p>No delivery is in this state.</p>}
              columns={[
                { name: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
                { name: "State", show: (delivery) => <State state={delivery.state} /> },
                {
                  name: "To",
                  show: ({ id, eventId, channel, route: found, to }) => (
                    <EventLink id={eventId} row={id}>
                      {`${found?.channel ?? channel} ${toLine(found?.to ?? to, 60)}`}
                    </EventLink>
                  ),
                },
                { name: "Text", kind: "wide", show: ({ text, error }) => <ResultText reply={text} error={error} /> },
                { name: "Attempts", kind: "number", show: ({ attempts }) => attempts },
                { name: "Sent", show: ({ sentAt }) => <Time at={sentAt} /> },
              ]}
            />
            <Older items={deliveries} />
          </>
        )}
      </Loading>
    </section>
  );
}

/** What failed permanently, to be retried or dropped, one by one or many at once. */
export function DeadLetters(): JSX.Element {
  const { before } = route.value.query;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const loaded = useLoad(`dead ${before}`, () => get("/api/dead-letters", { before, limit: AT_ONCE }));
  const treat = async (what: "retry" | "drop", items: readonly DeadLetterView[]): Promise<void> => {
    const chosen = items.filter(({ id }) => selected.has(id));
    const failed = await treatAll(what, chosen);
    setSelected(new Set(failed));
    const done = `${chosen.length - failed.length} ${what === "retry" ? "will run again" : "dropped"}`;
    notify(failed.length > 0 ? `${done}, ${failed.length} failed.` : `${done}.`, failed.length > 0 ? "bad" : "good");
    loaded.reload();
  };
  return (
    <section class="page">
      <h1>Dead letters</h1>
      <Loading from={loaded}>
        {({ deadLetters }) => (
          <>
            {deadLetters.length > 0 && (
              <p class="actions">
                <button
                  type="button"
                  class="main"
                  disabled={selected.size === 0}
                  onClick={() => void treat("retry", deadLetters)}
                >
                  Retry {selected.size || ""}
                </button>
                <button type="button" disabled={selected.size === 0} onClick={() => void treat("drop", deadLetters)}>
                  Drop {selected.size || ""}
                </button>
              </p>
            )}
            <Table
              label="Dead letters"
              items={deadLetters}
              keyOf={({ id }) => id}
              selected={selected}
              onSelect={setSelected}
              empty={<p>Nothing has failed permanently.</p>}
              columns={[
                { name: "Failed", show: ({ at }) => <Time at={at} /> },
                { name: "Kind", show: ({ kind }) => kind },
                {
                  name: "Hook",
                  show: ({ id, eventId, hook, kind }) => (
                    <EventLink id={eventId} row={id}>
                      {toLine(hook ?? kind, 60)}
                    </EventLink>
                  ),
                },
                { name: "Error", kind: "wide", show: ({ error }) => <span class="bad">{toLine(error, 240)}</span> },
                { name: "Attempts", kind: "number", show: ({ attempts }) => attempts },
              ]}
            />
            <Older items={deadLetters} />
          </>
        )}
      </Loading>
    </section>
  );
}

/** A browser opens six connections to a host at most. */
const IN_PARALLEL = 4;

/** Returns the ids of those that could not be treated. */
async function treatAll(what: "retry" | "drop", items: readonly DeadLetterView[]): Promise<string[]> {
  const waiting = [...items];
  const failed: string[] = [];
  const work = async (): Promise<void> => {
    for (let item = waiting.shift(); item; item = waiting.shift()) {
      const { id } = item;
      const treating: Promise<unknown> =
        what === "retry" ? post("/api/dead-letters/:id/retry", { id }) : remove("/api/dead-letters/:id", { id });
      await treating.catch(() => failed.push(id));
    }
  };
  await Promise.all(Array.from({ length: IN_PARALLEL }, work));
  return failed;
}

/** Requests that were refused before their sender was known. */
export function Rejections(): JSX.Element {
  const loaded = useLoad("rejections", () => get("/api/rejections", { limit: 500 }));
  return (
    <section class="page">
      <h1>Rejections</h1>
      <p class="quiet">Refused before the sender was known: nothing of their bodies is kept.</p>
      <Loading from={loaded}>
        {({ rejections }) => (
          <Table
            label="Rejections"
            items={rejections.map((rejection, index) => ({ ...rejection, key: `${rejection.at} ${index}` }))}
            keyOf={({ key }) => key}
            empty={<p>No request has been refused since the start.</p>}
            columns={[
              { name: "Time", show: ({ at }) => <Time at={at} /> },
              { name: "Hook", show: ({ hook }) => <b>{toLine(hook ?? "no hook", 60)}</b> },
              { name: "Reason", show: ({ reason }) => <span class="warn">{reason.replaceAll("_", " ")}</span> },
              { name: "Answer", kind: "wide", show: ({ message, hint }) => <Text>{hint ?? message}</Text> },
              { name: "Client", show: ({ client }) => client },
              { name: "Times", kind: "number", show: ({ repeated = 0 }) => repeated + 1 },
              { name: "Size", kind: "number", show: ({ size }) => (size === undefined ? "" : formatBytes(size)) },
              { name: "Headers", show: ({ headers }) => <HeaderNames names={headers} /> },
            ]}
          />
        )}
      </Loading>
    </section>
  );
}

function HeaderNames({ names }: { names: readonly string[] }): JSX.Element {
  return (
    <details>
      <summary>{names.length}</summary>
      <Text>{names.join(", ")}</Text>
    </details>
  );
}

type Mailbox = StatusView["mail"][number];

export function Mailboxes(): JSX.Element {
  const loaded = useLoad("status", () => get("/api/status"));
  return (
    <section class="page">
      <h1>Mailboxes</h1>
      <Loading from={loaded}>
        {({ mail }) =>
          mail.length === 0 ? (
            <div class="empty">
              <p>No mailbox is watched. To watch one:</p>
              <pre>webhooks mail setup</pre>
            </div>
          ) : (
            mail.map((mailbox) => <MailboxTable key={mailbox.mailbox} mailbox={mailbox} />)
          )
        }
      </Loading>
    </section>
  );
}

function MailboxTable({ mailbox: { name, mailbox, state, folders } }: { mailbox: Mailbox }): JSX.Element {
  return (
    <>
      <h2>
        {toLine(name, 60)} <span class="quiet">{toLine(mailbox, 100)}</span> <State state={state} />
      </h2>
      <Table
        label={`Folders of ${name}`}
        items={folders}
        keyOf={({ folder }) => folder}
        empty={<p>Its folders are not known yet.</p>}
        columns={[
          { name: "Folder", show: ({ folder }) => toLine(folder, 60) },
          { name: "State", show: (folder) => <State state={folder.state} /> },
          { name: "Since", show: ({ since }) => <Time at={since} /> },
          { name: "Problem", kind: "wide", show: ({ error }) => <span class="bad">{toLine(error, 200)}</span> },
          { name: "Waiting", kind: "number", show: ({ remaining }) => formatNumber(remaining) },
          { name: "Posted", kind: "number", show: ({ posted }) => formatNumber(posted) },
          { name: "Set aside", kind: "number", show: ({ setAside }) => formatNumber(setAside) },
          { name: "Last mail", show: ({ lastMailAt }) => <Time at={lastMailAt} /> },
        ]}
      />
    </>
  );
}

const DAY_MS = 86_400_000;
const PERIODS = [1, 7, 30];

/** Tokens and cost by hook, mapping and model. */
export function Spend(): JSX.Element {
  const days = Number(route.value.query.days) || 1;
  const since = new Date(Math.floor(Date.now() / DAY_MS - days + 1) * DAY_MS).toISOString();
  const loaded = useLoad(`spend ${since}`, () => get("/api/spend", { since }));
  return (
    <section class="page">
      <h1>Spend</h1>
      <p class="choices" role="group" aria-label="Period">
        {PERIODS.map((period) => (
          <button
            key={period}
            type="button"
            aria-pressed={days === period}
            onClick={() => setQuery({ days: `${period}` })}
          >
            {period === 1 ? "today" : `${period} days`}
          </button>
        ))}
        <span class="quiet">UTC</span>
      </p>
      <Loading from={loaded}>
        {({ spend }) => (
          <Table
            label="Spend by hook, mapping and model"
            items={spend}
            keyOf={({ hook, mapping, model }) => JSON.stringify([hook, mapping, model])}
            empty={
              <p>
                No run has said what it used. Prices are in <code>agents.prices</code>, limits in{" "}
                <code>agents.budget</code>.
              </p>
            }
            columns={[
              { name: "Hook", show: ({ hook }) => <b>{toLine(hook || "heartbeat", 60)}</b> },
              { name: "Mapping", show: ({ mapping }) => toLine(mapping, 60) },
              { name: "Model", kind: "wide", show: ({ model }) => toLine(model, 80) },
              { name: "Runs", kind: "number", show: ({ runs }) => formatNumber(runs) },
              { name: "Tokens in", kind: "number", show: ({ inputTokens }) => formatNumber(inputTokens) },
              { name: "Tokens out", kind: "number", show: ({ outputTokens }) => formatNumber(outputTokens) },
              { name: "Cost", kind: "number", show: ({ cost }) => formatCost(cost) },
            ]}
          />
        )}
      </Loading>
    </section>
  );
}
