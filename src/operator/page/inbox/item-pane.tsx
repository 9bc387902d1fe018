import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { act, type InboxItem } from "../api-client.ts";
import { notify, Time } from "../parts/controls.tsx";
import { messageOf, toLine } from "../parts/format.ts";
import { Loading, type Loaded } from "../parts/load.tsx";
import { Title } from "../parts/title.tsx";
import { hrefTo } from "../router.ts";
import { Answer } from "./answer.tsx";
import { Blocks } from "./blocks.tsx";

interface ItemPaneProps {
  id: string;
  from: Loaded<{ items: InboxItem[] }>;
}

/** An item that is no question: what is known of it, and what can be done. What is over stays as it was last seen. */
export function ItemPane({ id, from }: ItemPaneProps): JSX.Element {
  const last = useRef<InboxItem>(undefined);
  return (
    <Loading from={from}>
      {({ items }) => {
        const open = items.find((item) => item.id === id);
        last.current = open ?? last.current;
        if (last.current) return <Item item={last.current} isOver={!open} reload={from.reload} />;
        return (
          <article class="card">
            <Title text="This is over" />
            <p class="quiet">Nothing of it waits for a person any more.</p>
          </article>
        );
      }}
    </Loading>
  );
}

function Item({ item, isOver, reload }: { item: InboxItem; isOver: boolean; reload(): void }): JSX.Element {
  const { id, title, subject, since, blocks, actions } = item;
  return (
    <article class="card">
      <header>
        <Title text={title} />
        <p class="facts">
          {subject !== undefined && <span>{toLine(subject, 300)}</span>}
          <span>
            since <Time at={since} />
          </span>
          {isOver && <b>over</b>}
        </p>
      </header>
      <Blocks blocks={blocks} />
      <p class="facts">
        {linksOf(item).map(([name, href]) => (
          <a key={name} href={href}>
            {name}
          </a>
        ))}
      </p>
      {!isOver && (
        <Answer
          id={id}
          subject={toLine(title, 80)}
          choices={actions.map((action) => ({
            id: action.id,
            label: action.label,
            act: (isLast) => act(action, isLast).then(reload, (error: unknown) => notify(messageOf(error), "bad")),
          }))}
        />
      )}
    </article>
  );
}

/** The rows that the item stands for, and where it is cured. */
function linksOf({ id, part }: InboxItem): [name: string, href: string][] {
  const [kind = "", ...rest] = id.split(":");
  const name = rest.join(":");
  switch (kind) {
    case "model":
      return [["Show the turns", hrefTo(["activity"], { show: "turns", status: "waiting" })]];
    case "mailbox":
    case "tools":
    case "subscription":
      return [["Show the system", hrefTo(["system"])]];
    case "reload":
      return [["Show all problems", hrefTo(["mappings"])]];
    case "silent":
      return [["Show its requests", hrefTo(["activity"], { hook: name })]];
    case "paused":
      return [
        ["Show the turns", hrefTo(["activity"], { show: "turns", status: "waiting", mapping: name })],
        ["Show the mapping", hrefTo(["mappings", name])],
      ];
    case "held":
      return [
        ["Show the turns", hrefTo(["activity"], { show: "turns", status: "held" })],
        ["Spend", hrefTo(["spend"])],
      ];
    case "unknown":
      return [
        ["Show all", hrefTo(["activity"], { status: "refused", hook: name })],
        ["Show what is recorded", hrefTo(["activity"], { show: "recordings" })],
      ];
    default:
      return part === "left" ? [["Show all", hrefTo(["activity"], { mapping: name, status: "skipped" })]] : [];
  }
}
