import { Fragment, type JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { INBOX_PART_NAMES, type InboxPart } from "../../inbox/item.ts";
import type { InboxItem } from "../api-client.ts";
import { Copy, Time } from "../parts/controls.tsx";
import { formatMs, toLine } from "../parts/format.ts";
import { Loading, useCall } from "../parts/load.tsx";
import { Title } from "../parts/title.tsx";
import { pending, undo } from "../parts/undo.ts";
import { hrefTo } from "../router.ts";
import { ItemPane, QuestionPane } from "./item-pane.tsx";
import { Period } from "./period.tsx";

/** The id of a question; those of other items begin with a word. */
const UUID = /^[\da-f]{8}-[\da-f-]{27}$/;

/** Everything that waits for a person, and beside it the one that is open. */
export function Inbox({ id }: { id?: string }): JSX.Element {
  const loaded = useCall("GET /api/inbox");
  const { items = [] } = loaded.data ?? {};
  const open = items.filter(({ part }) => part !== "left").length;
  const others = items.filter((item) => item.part === "decide" && item.id !== id).length;
  return (
    <section class={id === undefined ? "desk" : "desk open"} aria-label="Inbox">
      <div class="pane list">
        <header class="facts">
          {id === undefined ? <Title text="Inbox" /> : <h2 class="title">Inbox</h2>}
          <span class="quiet">{loaded.data && `${open} open`}</span>
        </header>
        <Period />
        <Loading from={loaded}>{(data) => <List items={data.items} current={id} />}</Loading>
      </div>
      <div class="pane beside">
        {id === undefined ? (
          <p class="quiet">Nothing is open. Choose an item on the left: nothing opens by itself.</p>
        ) : (
          <>
            <a class="back" href={hrefTo([])}>
              ← Inbox{others > 0 && `, ${others} more to decide`}
            </a>
            {UUID.test(id) ? <QuestionPane key={id} id={id} /> : <ItemPane key={id} id={id} from={loaded} />}
          </>
        )}
      </div>
    </section>
  );
}

/**
 * Nothing moves while a person reads: what is new waits behind a button, what has ended stays. `current`: the id of the one that
 * is open beside it.
 */
function List({ items, current }: { items: readonly InboxItem[]; current: string | undefined }): JSX.Element {
  const [, redraw] = useState(0);
  const shown = useRef(new Map(items.map((item) => [item.id, item])));
  const open = new Map(items.map((item) => [item.id, item]));
  const added = items.filter(({ id }) => !shown.current.has(id));
  const show = (): void => {
    shown.current = new Map(open);
    redraw((before) => before + 1);
  };
  if (shown.current.size === 0 && added.length > 0) shown.current = open;
  const rows = Array.from(shown.current.values(), (item) => ({
    item: open.get(item.id) ?? item,
    isOver: !open.has(item.id),
  }));
  const parts = Map.groupBy(rows, ({ item }) => item.part);
  const count = (part: InboxPart): number => items.filter((item) => item.part === part).length;
  return (
    <>
      {parts.size > 1 && (
        <p class="chips">
          {[...parts.keys()].map((part) => (
            <button key={part} onClick={() => document.getElementById(`part-${part}`)?.scrollIntoView()}>
              {INBOX_PART_NAMES[part].split(" by ", 1)} {count(part)}
            </button>
          ))}
        </p>
      )}
      {added.length > 0 && rows.length > 0 && (
        <button class="new" onClick={show}>
          Show {added.length} new
        </button>
      )}
      {rows.length === 0 && <Nothing />}
      {[...parts].map(([part, own]) => (
        <Fragment key={part}>
          <h2 id={`part-${part}`}>{INBOX_PART_NAMES[part]}</h2>
          <ul class="items">
            {own.map(({ item, isOver }) => (
              <Row key={item.id} item={item} isOver={isOver} isCurrent={item.id === current} />
            ))}
          </ul>
        </Fragment>
      ))}
    </>
  );
}

function Row({ item, isOver, isCurrent }: { item: InboxItem; isOver: boolean; isCurrent: boolean }): JSX.Element {
  const { id, title, subject } = item;
  const waiting = pending.value.get(id);
  return (
    <li>
      <a
        data-row={id}
        class={isOver || waiting ? "item over" : "item"}
        href={hrefTo(["inbox", id])}
        aria-current={isCurrent ? "true" : undefined}
      >
        <i class={`dot ${isOver || waiting ? "off" : toDot(item)}`} aria-hidden="true" />
        <b>
          {waiting && `${waiting.word}: `}
          {toLine(title, 160)}
        </b>
        <span class="quiet">{isOver ? item.part === "decide" ? <Ended id={id} /> : "over" : <When item={item} />}</span>
        {subject !== undefined && <span class="sub quiet">{toLine(subject, 200)}</span>}
      </a>
      {waiting && (
        <button class="undo" aria-label={`Undo: ${toLine(title, 80)}`} onClick={() => undo(id)}>
          Undo
        </button>
      )}
    </li>
  );
}

function toDot({ part, actions }: InboxItem): string {
  const isOutcome = actions.some((action) => action.id === "done");
  if (part === "down" || part === "failed" || isOutcome) return "bad";
  return part === "decide" ? "" : part === "waiting" ? "warn" : "off";
}

function When({ item: { part, since, until } }: { item: InboxItem }): JSX.Element {
  if (until !== undefined)
    return <>{formatMs(Math.max(0, Date.parse(until) - Date.now())).replace(/ \d+ s$/, "")} left</>;
  const isState = part === "decide" || part === "down" || part === "waiting";
  return (
    <>
      {isState && "since "}
      <Time at={since} isShort />
    </>
  );
}

/** How a question has ended, and by whom. */
function Ended({ id }: { id: string }): JSX.Element {
  const { ended } = useCall("GET /api/inbox/:id*", { id }, 0).data ?? {};
  return <>{[ended?.word ?? "over", ended?.by && `by ${toLine(ended.by, 40)}`].filter(Boolean).join(" ")}</>;
}

/** An empty inbox says so, with the last request; a service that has had none, how to send it. */
function Nothing(): JSX.Element {
  const loaded = useCall("GET /api/events", { limit: 1 });
  const mappings = useCall("GET /api/mappings", {}, 0);
  return (
    <div class="empty">
      <p>Nothing waits for you.</p>
      <Loading from={loaded}>
        {({ events: [last] }) =>
          last ? (
            <p>
              The last request came <Time at={last.receivedAt} />:{" "}
              <a href={hrefTo(["events", last.id])}>{toLine(`${last.hook} ${last.subject ?? last.outcome}`, 120)}</a>
            </p>
          ) : (
            <Loading from={mappings}>
              {({ firstRequest }) => (
                <>
                  <p>No request has come yet. Send the first one, where the configuration is:</p>
                  <pre>{firstRequest}</pre>
                  <Copy text={firstRequest} />
                </>
              )}
            </Loading>
          )
        }
      </Loading>
    </div>
  );
}
