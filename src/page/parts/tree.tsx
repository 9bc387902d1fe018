import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Copy } from "./controls.tsx";
import { formatBytes, toVisible } from "./text.ts";

const CHILDREN_AT_ONCE = 100;
const MAX_CHARS = 400;
const MAX_DEPTH = 200;

export type Keys = readonly (string | number)[];

/** A payload as a tree: each value gives its path as a template has it. */
export function Tree({ value }: { value: unknown }): JSX.Element {
  return (
    <div class="tree" role="group" aria-label="payload">
      <Node value={value} keys={["payload"]} isOpen />
    </div>
  );
}

function Node({ value, keys, isOpen = false }: { value: unknown; keys: Keys; isOpen?: boolean }): JSX.Element {
  const [open, setOpen] = useState(isOpen);
  const [count, setCount] = useState(CHILDREN_AT_ONCE);
  const name = toVisible(String(keys.at(-1)));
  if (typeof value !== "object" || value === null || keys.length > MAX_DEPTH) {
    return (
      <div class="node">
        <span class="key">{name}</span> <Leaf value={keys.length > MAX_DEPTH ? "…" : value} />
        <PathButton keys={keys} />
      </div>
    );
  }
  const entries = Object.entries(value);
  const isList = Array.isArray(value);
  return (
    <div class="node">
      <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span aria-hidden="true">{open ? "▾" : "▸"}</span>
        <span class="hidden">{open ? "Close" : "Open"}</span>
        <span class="key">{name}</span>
        <span class="quiet">{isList ? `[${entries.length}]` : `{${entries.length}}`}</span>
      </button>
      <PathButton keys={keys} />
      {open && (
        <div class="children">
          {entries.slice(0, count).map(([key, child]) => (
            <Node
              key={key}
              value={child}
              keys={[...keys, isList ? Number(key) : key]}
              isOpen={keys.length < 3 && entries.length <= 20}
            />
          ))}
          {entries.length > count && (
            <button type="button" class="small" onClick={() => setCount(count + 10 * CHILDREN_AT_ONCE)}>
              {entries.length - count} more
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function PathButton({ keys }: { keys: Keys }): JSX.Element {
  return <Copy text={`{{${toPath(keys)}}}`} label="path" />;
}

function Leaf({ value }: { value: unknown }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== "string") return <span class="literal">{String(value)}</span>;
  const shown = isWhole ? value : value.slice(0, MAX_CHARS);
  return (
    <span class="string">
      <bdi>{toVisible(shown)}</bdi>
      {value.length > shown.length && (
        <button type="button" class="small" onClick={() => setWhole(true)}>
          all {formatBytes(value.length)}
        </button>
      )}
    </span>
  );
}

/** A path in the template language: `payload.items.[0].some-key` */
export function toPath(keys: Keys): string {
  return keys
    .map((key) => (typeof key === "number" ? `[${key}]` : /^[A-Za-z_$][\w$-]*$/.test(key) ? key : `[${key}]`))
    .join(".");
}
