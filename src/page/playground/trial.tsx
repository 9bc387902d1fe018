import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { TEMPLATE_FIELDS } from "../../types.ts";
import { type Diff, type MappingSource, call, type Trial } from "../api.ts";
import { Detail, formatNumber, messageOf, Pairs, toLine, toVisible, Warnings } from "../parts/controls.tsx";
import { Log, Prompt } from "../parts/conversation.tsx";
import { hrefTo } from "../router.ts";
import type { Problem } from "./editor.ts";

/** A new mapping for a hook; its id is none of those that are taken. */
export function createSource(hook = "new", taken: string[] = []): MappingSource {
  let id = hook;
  for (let count = 2; taken.includes(id); count++) id = `${hook}-${count}`;
  return { id, key: "", fields: { match: { path: hook }, messageTemplate: "{{json payload}}" }, samples: [] };
}

export interface TrialRequest {
  hook: string;
  payload: string;
  headers: Record<string, string>;
  query: Record<string, string>;
}

export interface TrialState {
  trial?: Trial;
  error?: string;
}

interface Work {
  request: TrialRequest;
  payload: { value?: unknown; error?: string };
  fields: Record<string, string>;
  code: string | undefined;
}

/** Long enough that a word is not tried letter by letter, short enough to feel at once. */
const TYPING_MS = 60;

/** Tries the work whenever it changes; an answer to an earlier state is not shown. */
export function useTrial(source: MappingSource, { request, payload, fields, code }: Work): TrialState {
  const [tried, setTried] = useState<TrialState>({});
  useEffect(() => {
    if (payload.error !== undefined) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const { hook, headers, query } = request;
      const mapping = toDraft(source, fields);
      const body = { hook, payload: payload.value, headers, query, mapping, code };
      call("POST /api/try", {}, { body, stop: stop.signal }).then(
        (trial) => setTried({ trial }),
        (error: unknown) => !stop.signal.aborted && setTried({ error: String(error) }),
      );
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [request, payload, fields, code]);
  return tried;
}

/** Only what differs from the loaded mapping; null removes a field. */
export function toDraft(
  source: MappingSource,
  fields: Record<string, string>,
): { id: string; [field: string]: unknown } {
  const isNew = source.key === "";
  const base = isNew ? source.fields : {};
  const changed = TEMPLATE_FIELDS.filter(
    (name) => fields[name] !== undefined && fields[name] !== (source.fields[name] ?? ""),
  );
  return { ...base, id: source.id, ...Object.fromEntries(changed.map((name) => [name, fields[name] || null])) };
}

export function Result({ trial, error }: TrialState): JSX.Element {
  if (error !== undefined) return <p class="problem">{toVisible(error)}</p>;
  if (!trial) return <p class="quiet">…</p>;
  if (!trial.ok) return <Refusal trial={trial} />;
  return (
    <>
      <Warnings texts={trial.warnings} />
      {trial.actions.length === 0 && <p>Skipped: {toVisible(trial.reason ?? "there is no action")}</p>}
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
        {toVisible(error)}
      </p>
      <Detail text={detail} />
      {problems.map(({ key = "", message, line, column = 1, excerpt = "" }, index) => (
        <Detail
          key={index}
          text={`${key} ${line === undefined ? "" : `line ${line}, column ${column}`} ${message}\n${excerpt}`.trim()}
        />
      ))}
      <Log log={log} />
    </>
  );
}

/** Shown elsewhere, or of no interest to the author of the mapping. */
const OWN_PLACE = ["text", "message", "instructions", "trustedName", "allowUnsafeExternalContent"];

function Action({ action }: { action: (Trial & { ok: true })["actions"][number] }): JSX.Element {
  const { kind, ...rest } = action;
  const text = action.kind === "none" ? "" : action.kind === "wake" ? action.text : action.message;
  const fields = Object.entries(rest)
    .filter(([name, value]) => !OWN_PLACE.includes(name) && value !== undefined)
    .map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
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

/** The text at this place: the field of the mapping, or the transform's code. */
export function findProblems(trial: Trial | undefined, name: string, { transform }: MappingSource): Problem[] {
  if (!trial || trial.ok) return [];
  const { problems = [], detail = "" } = trial;
  if (name !== "transform") return problems.filter(({ key }) => key === `mapping.${name}` || key === name);
  const file = transform?.file.split(/[\\/]/).at(-1) ?? "";
  const inModule = problems.filter((problem) => problem.file?.endsWith(file) && problem.line !== undefined);
  const place = new RegExp(`(?:^|[\\s/(])${RegExp.escape(file)}:(\\d+):(\\d+)`, "m").exec(detail);
  if (!place) return inModule;
  return [...inModule, { message: detail.split("\n")[0] ?? "", line: Number(place[1]), column: Number(place[2]) }];
}

/** How the stored events of the last week would fare under the draft, beside what is loaded. */
export function Comparison({ draft }: { draft: { mapping: object; code?: string } }): JSX.Element {
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
