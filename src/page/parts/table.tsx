import type { ComponentChildren, JSX } from "preact";

interface Column<Item> {
  name: string;
  /** wide: takes the room that is left. number: on the right. */
  kind?: "wide" | "number";
  show(item: Item): ComponentChildren;
}

interface TableProps<Item> {
  label: string;
  items: readonly Item[];
  columns: Column<Item>[];
  keyOf(item: Item): string;
  empty: ComponentChildren;
  /** Keys of the selected items, for actions on several at once. */
  selected?: ReadonlySet<string>;
  onSelect?(selected: ReadonlySet<string>): void;
}

/** A dense table; on a narrow screen each row becomes a block. */
export function Table<Item>(props: TableProps<Item>): JSX.Element {
  const { label, items, columns, keyOf, empty, selected, onSelect } = props;
  if (items.length === 0) return <div class="empty">{empty}</div>;
  const isAll = selected !== undefined && items.every((item) => selected.has(keyOf(item)));
  const toggle = (key: string): void =>
    onSelect?.(selected?.has(key) ? without(selected, key) : withKey(selected, key));
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          {onSelect && (
            <th class="check">
              <input
                type="checkbox"
                aria-label="Select all"
                checked={isAll}
                onChange={() => onSelect(isAll ? new Set() : new Set(items.map(keyOf)))}
              />
            </th>
          )}
          {columns.map(({ name, kind }) => (
            <th key={name} scope="col" class={kind}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => {
          const key = keyOf(item);
          return (
            <tr key={key} data-row={onSelect ? key : undefined} aria-selected={selected?.has(key)}>
              {onSelect && (
                <td class="check">
                  <input
                    type="checkbox"
                    aria-label={`Select ${key}`}
                    checked={selected?.has(key)}
                    onChange={() => toggle(key)}
                  />
                </td>
              )}
              {columns.map(({ name, kind, show }) => (
                <td key={name} class={kind} data-name={name}>
                  {show(item)}
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function without(selected: ReadonlySet<string>, key: string): ReadonlySet<string> {
  return new Set([...selected].filter((other) => other !== key));
}

function withKey(selected: ReadonlySet<string> = new Set(), key: string): ReadonlySet<string> {
  return new Set([...selected, key]);
}
