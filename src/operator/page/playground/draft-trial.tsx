import { createElement, type JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Diff, call, type Trial } from "../api-client.ts";
import { Detail, Pair, Pairs, Problems, Warnings } from "../parts/controls.tsx";
import { escapeHidden, formatNumber, messageOf, toLine } from "../parts/format.ts";
import { Log, Prompt } from "../parts/conversation.tsx";
import { hrefTo } from "../router.ts";
import { toText } from "../../../core/shared/json.ts";

export interface TrialState {
  trial?: Trial;
  error?: string;
}

/** Long enough that a word is not tried letter by letter, short enough to feel at once. */
const TYPING_MS = 60;

/** Tries the work whenever it changes; an answer to an earlier state is not shown. Undefined: it cannot be read. */
export function useTrial(body: object | undefined): TrialState {
  const [tried, setTried] = useState<TrialState>({});
  useEffect(() => {
    if (!body) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      call("POST /api/try", {}, { body, stop: stop.signal }).then(
        // A request that is refused as such has not been tried.
        (trial) => setTried("log" in trial ? { trial } : { error: Object(trial).error }),
        (error: unknown) => !stop.signal.aborted && setTried({ error: String(error) }),
      );
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [JSON.stringify(body)]);
  return tried;
}

export function Result({ trial, error }: TrialState): JSX.Element {
  if (error !== undefined) return <p class="problem">{escapeHidden(error)}</p>;
  if (!trial) return <p class="quiet">…</p>;
  if (!trial.ok) return <Refusal trial={trial} />;
  return (
    <>
      <Warnings texts={trial.warnings} />
      {trial.actions.length === 0 && <p>Skipped: {escapeHidden(trial.reason ?? "there is no action")}</p>}
      {trial.actions.map((action, index) => (
        <Action key={index} action={action} />
      ))}
      <Log log={trial.log} />
    </>
  );
}

function Refusal({ trial }: { trial: Trial & { ok: false } }): JSX.Element {
  const { status, code, error, detail, problems = [], log } = trial;
  return (
    <>
      <p class="problem">
        <b>
          {status} {code}
        </b>{" "}
        {escapeHidden(error)}
      </p>
      <Detail text={detail} isError />
      {detail === undefined && <Problems problems={problems} />}
      <Log log={log} />
    </>
  );
}

/** Shown elsewhere, or of no interest to the author of the mapping. */
const OWN_PLACE = ["text", "message", "instructions", "allowUnsafeExternalContent"];

function Action({ action }: { action: (Trial & { ok: true })["actions"][number] }): JSX.Element {
  const { kind, ...rest } = action;
  const text = "message" in action ? action.message : "text" in action ? action.text : "";
  const fields = Object.entries(rest)
    .filter(([name, value]) => !OWN_PLACE.includes(name) && value !== undefined)
    .map(([name, value]) => [name, toText(value)]);
  return (
    <article class="entry user">
      <header class="facts">
        <b>{kind}</b>
        {action.instructions !== undefined && <span>with instructions</span>}
        {action.allowUnsafeExternalContent && <span class="warn">outside the boundary</span>}
      </header>
      <Prompt text={text} />
      <Pairs pairs={Object.fromEntries(fields)} />
    </article>
  );
}

/** How the stored events of the last week would fare under the draft, beside what is loaded. */
export function Comparison({ draft }: { draft: object }): JSX.Element {
  const [state, setState] = useState<{ diff?: Diff; error?: string; isBusy?: boolean }>({});
  const compare = (): void => {
    setState({ isBusy: true });
    call("POST /api/diff", {}, { body: draft }).then(
      (diff) => setState({ diff }),
      (error: unknown) => setState({ error: messageOf(error) }),
    );
  };
  return (
    <>
      <p>
        <button class="main" disabled={state.isBusy} onClick={compare}>
          {state.isBusy ? "Comparing…" : "Compare with the loaded mapping"}
        </button>
      </p>
      {state.error !== undefined && <p class="problem">{escapeHidden(state.error)}</p>}
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
          {examples.map((example) => (
            <Changed key={example.eventId} example={example} />
          ))}
          {count > examples.length && <p class="quiet">and {formatNumber(count - examples.length)} more</p>}
        </div>
      ))}
    </>
  );
}

type Example = Diff["groups"][number]["examples"][number];

const MARKS = { same: "span", removed: "del", added: "ins" } as const;

/** Only the fields that differ, with their changed words marked. */
function Changed({ example: { eventId, hook, changes } }: { example: Example }): JSX.Element {
  return (
    <dl class="pairs changes">
      <Pair name="event">
        <a href={hrefTo(["events", eventId])}>{toLine(hook, 60)}</a>
      </Pair>
      {changes.map(({ name, parts }) => (
        <Pair key={name} name={name}>
          <bdi>{parts.map(({ kind, text }, at) => createElement(MARKS[kind], { key: at }, escapeHidden(text)))}</bdi>
        </Pair>
      ))}
    </dl>
  );
}
