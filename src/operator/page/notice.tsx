import { signal } from "@preact/signals";
import type { JSX } from "preact";

const notice = signal<{ text: string; tone: "good" | "bad" } | undefined>(undefined);
const SHOWN_MS = 5000;
let timer: ReturnType<typeof setTimeout>;

/** Says what became of something that a person asked for. */
export function notify(text: string, tone: "good" | "bad" = "good"): void {
  notice.value = { text, tone };
  clearTimeout(timer);
  timer = setTimeout(() => (notice.value = undefined), SHOWN_MS);
}

export function Notice(): JSX.Element {
  return (
    <div class={`notice ${notice.value?.tone ?? ""}`} role="status">
      {notice.value?.text}
    </div>
  );
}
