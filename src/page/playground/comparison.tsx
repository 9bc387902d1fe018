import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type Diff, post } from "../api.ts";
import { formatNumber, messageOf, toLine, toVisible } from "../parts/text.ts";
import { hrefTo } from "../router.ts";

/** How the stored events of the last week would fare under the draft, beside what is loaded. */
export function Comparison({ draft }: { draft: { mapping: object; code?: string } }): JSX.Element {
  const [state, setState] = useState<{ diff?: Diff; error?: string; isBusy?: boolean }>({});
  const compare = (): void => {
    setState({ isBusy: true });
    post("/api/diff", {}, { body: draft }).then(
      (diff) => setState({ diff }),
      (error: unknown) => setState({ error: messageOf(error) }),
    );
  };
  return (
    <>
      <p>
        <button type="button" class="main" disabled={state.isBusy} onClick={compare}>
          {state.isBusy ? "Comparing…" : "Compare with the loaded mapping"}
        </button>
      </p>
      {state.error !== undefined && <p class="problem">{toVisible(state.error)}</p>}
      {state.diff && <DiffResult diff={state.diff} />}
    </>
  );
}

function DiffResult({ diff: { events, equal, unknown, groups } }: { diff: Diff }): JSX.Element {
  return (
    <>
      <p class="facts">
        <span>{formatNumber(events)} events</span> <span class="good">{formatNumber(equal)} equal</span>
        {unknown > 0 && <span class="quiet">{formatNumber(unknown)} depend on redacted values</span>}
      </p>
      {groups.map(({ kind, label, count, examples }) => (
        <div key={label} class="panel">
          <h3 class={kind === "failing" ? "bad" : "warn"}>
            {formatNumber(count)} {toLine(label, 200)}
          </h3>
          {examples.map(({ eventId, hook, before, after }) => (
            <dl key={eventId} class="pairs">
              <div>
                <dt>
                  <a href={hrefTo(["events", eventId])}>{toLine(hook, 60)}</a> now
                </dt>
                <dd>{describe(before)}</dd>
              </div>
              <div>
                <dt>draft</dt>
                <dd>{describe(after)}</dd>
              </div>
            </dl>
          ))}
        </div>
      ))}
    </>
  );
}

function describe({ actions, reason, error }: Diff["groups"][number]["examples"][number]["before"]): string {
  if (error !== undefined) return toLine(`refused: ${error}`, 300);
  if (actions.length === 0) return toLine(`skipped: ${reason ?? "no action"}`, 300);
  return toLine(actions.map((action) => JSON.stringify(action)).join(" "), 600);
}
