import { Fragment, type JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { INBOX_PART_NAMES } from "../../inbox/item.ts";
import { type InboxItem, act } from "../api-client.ts";
import { notify, Time } from "../parts/controls.tsx";
import { messageOf, toLine } from "../parts/format.ts";
import { Loading, Page, useCall } from "../parts/load.tsx";
import { Title } from "../parts/title.tsx";
import { later, pending, undo } from "../parts/undo.ts";
import { hrefTo } from "../router.ts";
import { Blocks } from "./blocks.tsx";

/** How many items wait for a person; undefined: not known yet. */
export function useInboxCount(): number | undefined {
  const { data } = useCall("GET /api/inbox");
  return data?.items.filter(({ part }) => part !== "left").length;
}

/** Everything that waits for a person, part by part. */
export function Inbox(): JSX.Element {
  return (
    <Page title="Inbox" from={useCall("GET /api/inbox")}>
      {({ items }) => <List items={items} />}
    </Page>
  );
}

/** Nothing moves while a person reads: what is new waits behind a button, what has ended stays. */
function List({ items }: { items: readonly InboxItem[] }): JSX.Element {
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
  return (
    <div class="inbox">
      {added.length > 0 && rows.length > 0 && (
        <button class="new" onClick={show}>
          Show {added.length} new
        </button>
      )}
      {rows.length === 0 && <p class="empty">Nothing waits for you.</p>}
      {[...parts].map(([part, own]) => (
        <Fragment key={part}>
          <h2>
            {INBOX_PART_NAMES[part]} <span class="quiet">{own.length}</span>
          </h2>
          <ul class="items">
            {own.map(({ item, isOver }) => (
              <li key={item.id}>
                <Row item={item} isOver={isOver} />
              </li>
            ))}
          </ul>
        </Fragment>
      ))}
    </div>
  );
}

function Row({
  item: { id, part, title, subject, since, until },
  isOver,
}: {
  item: InboxItem;
  isOver: boolean;
}): JSX.Element {
  const waiting = pending.value.get(id);
  return (
    <a data-row={id} class={isOver ? "item over" : "item"} href={hrefTo(["inbox", id])}>
      <b>
        {waiting && `${waiting.word}: `}
        {toLine(title, 160)}
      </b>
      <span class="quiet">
        {isOver ? (
          "over"
        ) : until === undefined ? (
          part === "decide" ? (
            "no limit"
          ) : (
            <Time at={since} />
          )
        ) : (
          <>
            until <Time at={until} />
          </>
        )}
      </span>
      {subject !== undefined && <span class="sub quiet">{toLine(subject, 200)}</span>}
    </a>
  );
}

/** An item that is no question: what is known of it, and what can be done. */
export function ItemScreen({ id }: { id: string }): JSX.Element {
  const loaded = useCall("GET /api/inbox/:id*", { id });
  return (
    <section class="page">
      <Loading from={loaded}>{(item) => <Item item={item} reload={loaded.reload} />}</Loading>
    </section>
  );
}

function Item({ item, reload }: { item: InboxItem; reload(): void }): JSX.Element {
  const { id, title, subject, since, blocks, actions } = item;
  const waiting = pending.value.get(id);
  const press = (action: InboxItem["actions"][number]): void =>
    later(id, action.label, (isLast) => {
      void act(action, isLast).then(reload, (error: unknown) => notify(messageOf(error), "bad"));
    });
  return (
    <article class="card">
      <header>
        <Title text={title} />
        <p class="facts">
          {subject !== undefined && <span>{toLine(subject, 300)}</span>}
          <span>
            since <Time at={since} />
          </span>
        </p>
      </header>
      <Blocks blocks={blocks} />
      <div class="answer">
        <p class="buttons">
          {waiting ? (
            <>
              <span role="status">{waiting.word}: in a moment</span>
              <button aria-label={`Undo: ${waiting.word}`} onClick={() => undo(id)}>
                Undo
              </button>
            </>
          ) : (
            actions.map((action) => (
              <button key={action.id} class={action.id === "drop" ? "deny" : "main"} onClick={() => press(action)}>
                {action.label}
              </button>
            ))
          )}
        </p>
      </div>
    </article>
  );
}
