import { type ComponentChildren, Fragment, type JSX } from "preact";
import { hrefTo, route, setQuery } from "../router.ts";
import { type Loaded, Loading } from "./load.tsx";

/** wide: takes the room that is left. number: on the right. */
export type Column<Item> = [name: string, show: (item: Item) => ComponentChildren, kind?: "wide" | "number"];

interface TableProps<Item> {
  label: string;
  items: readonly Item[];
  columns: readonly Column<Item>[];
  keyOf(item: Item): string;
  empty: ComponentChildren;
  /** A value that rows of a group, which follow each other, have in common: it is shown above the first of them. */
  groupOf?(item: Item): { key: string; show: ComponentChildren };
  /** Shown below its row; undefined: nothing. */
  detailOf?(item: Item): ComponentChildren;
  /** The keys are ids, and older items can be asked for. */
  isPaged?: boolean;
}

/** A dense table; where there is little room each row becomes a card. */
export function Table<Item>(props: TableProps<Item>): JSX.Element {
  const { label, items, columns, keyOf, empty, isPaged, detailOf, groupOf } = props;
  if (items.length === 0) return <div class="empty">{empty}</div>;
  const table = (
    <div class="table">
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(([name, , kind]) => (
              <th key={name} scope="col" class={kind}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item, index) => {
            const detail = detailOf?.(item);
            const group = groupOf?.(item);
            const before = items[index - 1];
            const isFirst = group && (before === undefined || groupOf?.(before).key !== group.key);
            return (
              <Fragment key={keyOf(item)}>
                {isFirst && (
                  <tr class="group">
                    <th scope="colgroup" colSpan={columns.length}>
                      {group.show}
                    </th>
                  </tr>
                )}
                <tr>
                  {columns.map(([name, show, kind]) => (
                    <td key={name} class={kind} data-name={name}>
                      {show(item)}
                    </td>
                  ))}
                </tr>
                {detail !== undefined && (
                  <tr class="details">
                    <td colSpan={columns.length}>{detail}</td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
  if (!isPaged || items.length < PAGE_SIZE) return table;
  const last = items.at(-1);
  return (
    <>
      {table}
      <Older before={last && keyOf(last)} />
    </>
  );
}

/** The link to the page of what is older. */
export function Older({ before }: { before: string | undefined }): JSX.Element {
  const { path, query } = route.value;
  return (
    <a class="button" href={hrefTo(path, { ...query, before })}>
      Older
    </a>
  );
}

interface ListProps<Data, Item> extends Omit<TableProps<Item>, "items"> {
  from: Loaded<Data>;
  itemsOf(data: Data): readonly Item[];
}

/** A table of what is loaded. */
export function List<Data, Item>({ from, itemsOf, ...table }: ListProps<Data, Item>): JSX.Element {
  return <Loading from={from}>{(data) => <Table {...table} items={itemsOf(data)} />}</Loading>;
}

/** How many items a list shows at once. */
export const PAGE_SIZE = 200;

/** A row's link to its event, if it has one. */
export function EventLink({ row, children }: { row: { id: string; eventId?: string }; children: string }): JSX.Element {
  const { id, eventId } = row;
  if (eventId === undefined) return <span class="quiet">{children}</span>;
  return (
    <a href={hrefTo(["events", eventId])} data-row={id} data-event={eventId}>
      {children}
    </a>
  );
}

interface ChoicesProps {
  label: string;
  /** The parameter of the place's URL that the choice sets. */
  parameter: string;
  names: readonly string[];
  chosen: string;
  textOf?(name: string): string;
  children?: ComponentChildren;
}

/** A choice of one of a few, shown at once. */
export function Choices({ label, parameter, names, chosen, textOf = String, children }: ChoicesProps): JSX.Element {
  return (
    <p class="choices" role="group" aria-label={label}>
      {names.map((name) => (
        <button
          key={name}
          aria-pressed={name === chosen}
          onClick={() => setQuery({ [parameter]: name, before: undefined })}
        >
          {textOf(name)}
        </button>
      ))}
      {children}
    </p>
  );
}
