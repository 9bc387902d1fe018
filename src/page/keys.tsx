import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { replay } from "./event/event.tsx";
import { goTo } from "./router.ts";

const isHelpOpen = signal(false);

/** A key without an action is the browser's own. */
const KEYS: Record<string, { does: string; act?(): void }> = {
  j: { does: "next row", act: () => move(1) },
  k: { does: "previous row", act: () => move(-1) },
  Enter: { does: "open the row" },
  r: { does: "replay the request of the row or the page", act: replayHere },
  "/": { does: "search", act: () => document.querySelector<HTMLElement>("input[type=search]")?.focus() },
  g: { does: "all requests", act: () => goTo([]) },
  "?": { does: "these keys", act: () => (isHelpOpen.value = !isHelpOpen.value) },
};

export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    // The target inside the editor's shadow root is the editor.
    const [target] = event.composedPath();
    if (target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"))) {
      if (event.key === "Escape") target.blur();
      return;
    }
    const key = KEYS[event.key];
    if (!key?.act) return;
    event.preventDefault();
    key.act();
  });
}

function move(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("a[data-row]")].toSorted((a, b) => top(a) - top(b));
  const current = rows.findIndex((row) => row === document.activeElement);
  const next = current === -1 ? rows.find((row) => top(row) >= listTop(row)) : rows[current + step];
  next?.focus();
}

const top = (element: HTMLElement): number => element.getBoundingClientRect().top;
const listTop = (row: HTMLElement): number => row.closest(".scroller")?.getBoundingClientRect().top ?? 0;

function replayHere(): void {
  const focused = document.activeElement?.closest<HTMLElement>("[data-event]");
  const id = (focused ?? document.querySelector<HTMLElement>("section[data-event]"))?.dataset["event"];
  if (id !== undefined) void replay(id);
}

export function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = isHelpOpen.value;
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-label="Keys" onClose={() => (isHelpOpen.value = false)}>
      <h2>Keys</h2>
      <dl class="pairs">
        {Object.entries(KEYS).map(([key, { does }]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => (isHelpOpen.value = false)}>
        Close
      </button>
    </dialog>
  );
}
