import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, type DeadLetterView, type StatusView } from "../api.ts";
import { formatBytes, formatNumber, notify, State, Text, Time, toLine } from "../parts/controls.tsx";
import { Page, useLoad } from "../parts/load.tsx";
import { EventLink, PAGE_SIZE, Table } from "../parts/table.tsx";
import { route } from "../router.ts";

type Treatment = "retry" | "drop";

/** Dead letters, to be retried or dropped, one by one or several at once. */
export function DeadLetters(): JSX.Element {
  const { before } = route.value.query;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const loaded = useLoad(`dead ${before}`, () => call("GET /api/dead-letters", { before, limit: PAGE_SIZE }));
  const treat = async (treatment: Treatment, items: readonly DeadLetterView[]): Promise<void> => {
    const chosen = items.filter(({ id }) => selected.has(id));
    const failed = await treatAll(treatment, chosen);
    setSelected(new Set(failed));
    const done = `${chosen.length - failed.length} ${treatment === "retry" ? "will run again" : "dropped"}`;
    notify(failed.length > 0 ? `${done}, ${failed.length} failed.` : `${done}.`, failed.length > 0 ? "bad" : "good");
    loaded.reload();
  };
  return (
    <Page title="Dead letters" from={loaded}>
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
            isPaged
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
        </>
      )}
    </Page>
  );
}

/** A browser opens six connections to a host at most. */
const IN_PARALLEL = 4;
const ENDPOINTS = { retry: "POST /api/dead-letters/:id/retry", drop: "DELETE /api/dead-letters/:id" } as const;

/** Returns the ids of those that could not be treated. */
async function treatAll(treatment: Treatment, items: readonly DeadLetterView[]): Promise<string[]> {
  const waiting = items.values();
  const failed: string[] = [];
  const work = async (): Promise<void> => {
    for (const { id } of waiting) await call(ENDPOINTS[treatment], { id }).catch(() => failed.push(id));
  };
  await Promise.all(Array.from({ length: IN_PARALLEL }, work));
  return failed;
}

/** Requests that were refused before their sender was known. */
export function Rejections(): JSX.Element {
  const loaded = useLoad("rejections", () => call("GET /api/rejections", { limit: 500 }));
  const intro = <p class="quiet">Refused before the sender was known: nothing of their bodies is kept.</p>;
  return (
    <Page title="Rejections" intro={intro} from={loaded}>
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
            { name: "Count", kind: "number", show: ({ repeated = 0 }) => repeated + 1 },
            { name: "Size", kind: "number", show: ({ size }) => (size === undefined ? "" : formatBytes(size)) },
            { name: "Headers", show: ({ headers }) => <HeaderNames names={headers} /> },
          ]}
        />
      )}
    </Page>
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

export function Mailboxes(): JSX.Element {
  const loaded = useLoad("status", () => call("GET /api/status"));
  return (
    <Page title="Mailboxes" from={loaded}>
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
    </Page>
  );
}

function MailboxTable({ mailbox: { name, mailbox, state, folders } }: { mailbox: StatusView["mail"][number] }) {
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
