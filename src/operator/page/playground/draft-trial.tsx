import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Diff, call, type Trial } from "../api-client.ts";
import { Detail, Pairs, Warnings } from "../parts/controls.tsx";
import { escapeHidden, formatNumber, messageOf, toLine } from "../parts/format.ts";
import { Log, Prompt } from "../parts/conversation.tsx";
import { hrefTo } from "../router.ts";
import { toText } from "../../../core/shared/json.ts";
import { diffWords } from "../../../core/shared/text/word-diff.ts";
import { TEMPLATE_FIELDS } from "../../../core/config/settings.ts";
import type { Problem } from "./editor.ts";

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
      {problems.map(({ key = "", message, line, column = 1, excerpt = "" }, index) => (
        <Detail
          key={index}
          isError
          text={`${key} ${line === undefined ? "" : `line ${line}, column ${column}`} ${message}\n${excerpt}`.trim()}
        />
      ))}
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
      <header>
        <b>{kind}</b>
        {action.instructions !== undefined && <span>with instructions</span>}
        {action.allowUnsafeExternalContent && <span class="warn">outside the boundary</span>}
      </header>
      <Prompt text={text} />
      <Pairs pairs={Object.fromEntries(fields)} />
    </article>
  );
}

/** Problems of a template, of the rest of the mapping (`mapping`), or of a module. */
export function findProblems(trial: Trial | undefined, place: string): Problem[] {
  if (!trial || trial.ok) return [];
  const { problems = [], detail = "" } = trial;
  if (/\.\w+$/.test(place)) {
    const inModule = problems.filter(({ file, line }) => file?.endsWith(place) && line !== undefined);
    const found = new RegExp(`(?:^|[\\s/(])${RegExp.escape(place)}:(\\d+):(\\d+)`, "m").exec(detail);
    if (!found) return inModule;
    return [...inModule, { message: detail.split("\n")[0] ?? "", line: Number(found[1]), column: Number(found[2]) }];
  }
  const fieldOf = (key = ""): string => key.replace(/^mapping\./, "").split(/[.[]/, 1)[0] ?? "";
  const templates: readonly string[] = TEMPLATE_FIELDS;
  if (place !== "mapping")
    return problems.filter(({ key }) => fieldOf(key) === place).map(({ message }) => ({ message }));
  const ofModules = /\.[cm]?[jt]s$/;
  return problems.filter(({ key, file = "" }) => !templates.includes(fieldOf(key)) && !ofModules.test(file));
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

/** Only the fields that differ, with their changed words marked. */
function Changed({ example: { eventId, hook, before, after } }: { example: Example }): JSX.Element {
  const [earlier, later] = [toFields(before), toFields(after)];
  const names = [...new Set([...Object.keys(earlier), ...Object.keys(later)])];
  const changed = names.filter((name) => earlier[name] !== later[name]);
  return (
    <dl class="pairs changes">
      <div>
        <dt>event</dt>
        <dd>
          <a href={hrefTo(["events", eventId])}>{toLine(hook, 60)}</a>
        </dd>
      </div>
      {changed.map((name) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Words before={earlier[name] ?? ""} after={later[name] ?? ""} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Words({ before, after }: { before: string; after: string }): JSX.Element {
  return (
    <bdi>
      {diffWords(before, after).map(({ kind, text }, index) => {
        if (kind === "same")
          return escapeHidden(text.length > 160 ? `${text.slice(0, 60)} … ${text.slice(-60)}` : text);
        return kind === "removed" ? (
          <del key={index}>{escapeHidden(text)}</del>
        ) : (
          <ins key={index}>{escapeHidden(text)}</ins>
        );
      })}
    </bdi>
  );
}

/** The fields of each action, or why there is none. */
function toFields({ mapping, actions, reason, error }: Example["before"]): Record<string, string> {
  if (error !== undefined) return { result: `refused: ${error}` };
  if (actions.length === 0) return { result: `skipped: ${reason ?? "no action"}` };
  const fields = actions.flatMap((action, index) =>
    Object.entries(action).map(([name, value]) => [
      actions.length > 1 ? `${index + 1}. ${name}` : name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
  return { ...(mapping !== undefined && { mapping }), ...Object.fromEntries(fields) };
}
