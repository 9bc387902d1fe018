import type { JSX } from "preact";
import { call } from "../api-client.ts";
import { confirmed } from "../parts/ask.tsx";
import { notify, notifyOf } from "../parts/controls.tsx";
import { formatNumber, toLine } from "../parts/format.ts";
import type { Filter } from "../row.ts";

type Action = "replay" | "retry" | "drop" | "cancel";
const NAMES: Record<Action, string> = { replay: "Replay", retry: "Retry", drop: "Drop", cancel: "Cancel" };

/** Actions on everything that the filter chooses: those that fit its status. */
export function Bulk({ shown, filter }: { shown: string; filter: Filter }): JSX.Element | null {
  const { text: q, ...facets } = filter;
  const kind = { turns: "run", messages: "delivery" }[shown];
  const actions: Action[] =
    filter.status === "failed"
      ? kind === undefined
        ? ["replay", "retry", "drop"]
        : ["retry", "drop"]
      : ["unfinished", "held", "waiting", "running"].includes(filter.status ?? "") && kind !== "delivery"
        ? ["cancel"]
        : [];
  if (actions.length === 0) return null;
  const { status, ...rest } = facets;
  const chosen = { ...rest, q, kind, ...(kind === undefined && { status }) };
  return (
    <p class="actions bulk">
      {actions.map((action) => (
        <button key={action} onClick={() => void treat(action, chosen)}>
          {NAMES[action]} all…
        </button>
      ))}
    </p>
  );
}

const PROGRESS_MS = 500;

/** The preview counts them, and the action takes exactly those. */
async function treat(action: Action, filter: object): Promise<void> {
  const failed = `Not done: ${NAMES[action]}`;
  const preview = await notifyOf(call("POST /api/bulk", {}, { body: { action, filter } }), undefined, failed);
  if (!preview) return;
  const { count, more, subjects, sent, token } = preview;
  const text = [
    `${more ? "The newest " : ""}${formatNumber(count)}: ${subjects.map((one) => toLine(one, 80)).join(" · ")}${count > subjects.length ? " …" : ""}`,
    sent > 0 ? ` ${formatNumber(sent)} of them had sent something already.` : "",
  ].join("");
  const label = `${NAMES[action]} ${formatNumber(count)}`;
  if (count === 0 || !(await confirmed(`${label}?`, text, label))) return;
  const work = call("POST /api/bulk", {}, { body: { action, filter, token } });
  let isOver = false;
  const show = ({ changed }: { changed: number }): void => {
    if (!isOver) notify(`${formatNumber(changed)} of ${formatNumber(count)} …`);
  };
  const timer = setInterval(() => void call("GET /api/bulk/:id", { id: token }).then(show, () => {}), PROGRESS_MS);
  const end = (): void => {
    isOver = true;
    clearInterval(timer);
  };
  await notifyOf(
    work.finally(end),
    ({ changed = 0, failed: not = 0, error }) =>
      `${formatNumber(changed)} done${not > 0 ? `, ${formatNumber(not)} not${error === undefined ? "" : `: ${toLine(error, 120)}`}` : ""}.`,
    failed,
  );
}
