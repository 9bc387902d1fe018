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

/** An item that is no question: what is known of it, and what can be done. What is over stays as it was last seen. */
export function ItemPane({ id, from }: { id: string; from: Loaded<{ items: InboxItem[] }> }): JSX.Element {
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
          <Time at={since} before="since" />
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

type Link = [name: string, href: string];

/** The rows that the item stands for, and where it is cured. */
function linksOf({ id, blocks, actions }: InboxItem): Link[] {
  const [kind = "", ...rest] = id.split(":");
  const name = rest.join(":");
  const show = (text: string, query: Record<string, string | undefined>): Link => [text, hrefTo(["activity"], query)];
  const {
    kind: of,
    hook,
    mapping,
    group,
  }: Record<string, string | undefined> = Object(Object(actions[0]?.body).filter);
  const shown = { run: "turns", delivery: "messages" }[of ?? ""];
  const [event] = blocks.flatMap((block) =>
    block.kind === "facts" ? block.rows.flatMap((fact) => (fact.name === "Event" ? fact.value : [])) : [],
  );
  const system: Link[] = [["Show the system", hrefTo(["system"])]];
  const links: Record<string, Link[]> = {
    failed: [
      show("Show all", { show: shown, status: "failed", hook, mapping, group }),
      ...(event === undefined ? [] : [["Show the newest", hrefTo(["events", event])] satisfies Link]),
      ...(mapping === undefined
        ? []
        : [["Playground", hrefTo(["mappings", mapping, "edit"], { event })] satisfies Link]),
    ],
    model: [show("Show the turns", { show: "turns", status: "waiting" })],
    mailbox: system,
    tools: system,
    "tool-changed": system,
    subscription: system,
    reload: [["Show all problems", hrefTo(["mappings"])]],
    silent: [show("Show its requests", { hook: name })],
    missed: [show("Show its requests", { hook: name })],
    paused: [
      show("Show the turns", { show: "turns", status: "waiting", mapping: name }),
      ["Show the mapping", hrefTo(["mappings", name])],
    ],
    held: [show("Show the turns", { show: "turns", status: "held" }), ["Spend", hrefTo(["spend"])]],
    unknown: [
      show("Show all", { status: "refused", hook: name }),
      show("Show what is recorded", { show: "recordings" }),
    ],
    left: [show("Show all", { mapping: name, status: "skipped" })],
  };
  return links[kind] ?? [];
}
