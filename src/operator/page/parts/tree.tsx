import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Suggestion } from "../playground/editor.ts";
import { ExactNumber } from "../../../core/shared/exact-json.ts";
import { Copy } from "./controls.tsx";
import { escapeHidden, formatBytes, toLine } from "./format.ts";
import { type Keys, toPath } from "./path.ts";

const CHILDREN_AT_ONCE = 100;
const MAX_CHARS = 400;
const MAX_DEPTH = 200;
/** The last level that is indented: deeper ones have no room. */
const MAX_INDENTED = 8;

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
  const name = escapeHidden(String(keys.at(-1)));
  const path = <Copy text={`{{${toPath(keys)}}}`} label="path" />;
  if (isLeaf(value) || keys.length > MAX_DEPTH) {
    return (
      <div class="node">
        <span class="key">{name}</span> <Leaf value={keys.length > MAX_DEPTH ? "…" : value} />
        {path}
      </div>
    );
  }
  const entries = Object.entries(value);
  const isList = Array.isArray(value);
  return (
    <div class="node">
      <button class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span aria-hidden="true">{open ? "▾" : "▸"}</span>
        <span class="key">{name}</span>
        <span class="quiet">{isList ? `[${entries.length}]` : `{${entries.length}}`}</span>
      </button>
      {path}
      {open && (
        <div class={keys.length > MAX_INDENTED ? "" : "children"}>
          {entries.slice(0, count).map(([key, child]) => (
            <Node
              key={key}
              value={child}
              keys={[...keys, isList ? Number(key) : key]}
              isOpen={keys.length < 3 && entries.length <= 20}
            />
          ))}
          {entries.length > count && (
            <button class="small" onClick={() => setCount(count + 10 * CHILDREN_AT_ONCE)}>
              {entries.length - count} more
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function isLeaf(value: unknown): value is string | number | boolean | null | undefined | ExactNumber {
  return typeof value !== "object" || value === null || value instanceof ExactNumber;
}

function Leaf({ value }: { value: unknown }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== "string") return <span class="literal">{String(value)}</span>;
  const shown = isWhole ? value : value.slice(0, MAX_CHARS);
  return (
    <span class="string">
      <bdi>{escapeHidden(shown)}</bdi>
      {value.length > shown.length && (
        <button class="small" onClick={() => setWhole(true)}>
          all {formatBytes(value.length)}
        </button>
      )}
    </span>
  );
}

/** Suggestions of an editor: the paths of a payload, headers and query with their values. */
export function listSuggestions(
  payload: unknown,
  { headers, query }: { headers: Record<string, string>; query: Record<string, string> },
): Suggestion[] {
  return [
    ...listPaths(payload),
    ...Object.entries(headers).map(([name, value]) => ({ label: `headers.${name}`, detail: toLine(value, 60) })),
    ...Object.entries(query).map(([name, value]) => ({ label: `query.${name}`, detail: toLine(value, 60) })),
  ];
}

const MAX_PATHS = 2000;

function listPaths(payload: unknown): Suggestion[] {
  const found: Suggestion[] = [];
  const queue: { value: unknown; keys: Keys }[] = [{ value: payload, keys: ["payload"] }];
  for (const { value, keys } of queue) {
    if (found.length >= MAX_PATHS) break;
    found.push({ label: toPath(keys), detail: describeValue(value) });
    if (isLeaf(value) || keys.length > 8) continue;
    const isList = Array.isArray(value);
    for (const [key, child] of Object.entries(value).slice(0, isList ? 2 : 200)) {
      queue.push({ value: child, keys: [...keys, isList ? Number(key) : key] });
    }
  }
  return found;
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length}]`;
  if (!isLeaf(value)) return "{…}";
  return escapeHidden(String(value).slice(0, 60));
}
