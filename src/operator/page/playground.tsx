import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Diff, get, type MappingSource, post, type Trial } from "./api.ts";
import type { Editor as EditorHandle, EditorOptions, Name, Problem } from "./editor.ts";
import { parse } from "./event.tsx";
import { Copy, formatMs, formatNumber, Loading, toLine, toVisible, useLoad } from "./parts.tsx";
import { listPaths } from "./payload.tsx";
import { hrefTo, route, setQuery } from "./router.ts";
import { Prompt } from "./sessions.tsx";

/** Long enough that a word is not tried letter by letter, short enough to feel at once. */
const TYPING_MS = 60;

/** Edits a mapping on a payload, and shows what it makes of it as one types. Nothing is recorded or written. */
export function Playground(): JSX.Element {
  const { mapping = "" } = route.value.query;
  const status = useLoad("mappings", () => get("/api/status"), 0);
  return (
    <section class="page">
      <h1>Playground</h1>
      <p class="quiet">Runs in the service’s own sandbox. Nothing is recorded, and no file is written.</p>
      <Loading from={status}>
        {({ config }) => (
          <>
            <p class="facts">
              <label>
                Mapping
                <select
                  value={mapping}
                  onChange={(event) => setQuery({ mapping: event.currentTarget.value, sample: "" })}
                >
                  <option value="">choose one, or start a new one</option>
                  {config.mappings.map((id) => (
                    <option key={id} value={id}>
                      {toLine(id, 80)}
                    </option>
                  ))}
                </select>
              </label>
            </p>
            <Workbench key={mapping} id={mapping} />
          </>
        )}
      </Loading>
    </section>
  );
}

const NEW: MappingSource = {
  id: "new",
  key: "",
  fields: { match: { path: "new" }, messageTemplate: "{{json payload}}" },
  samples: [],
};

/** Loads what the work starts from: the mapping's source, and the event. */
function Workbench({ id }: { id: string }): JSX.Element {
  const { event = "" } = route.value.query;
  const loaded = useLoad(
    `source ${id} ${event}`,
    async () => {
      const found = event === "" ? undefined : await get("/api/events/:id", { id: event });
      const known = id || found?.mapping;
      const source = known === undefined ? NEW : await get("/api/mappings/:id/source", { id: known });
      return { source, event: found ?? (await findLatest(source)) };
    },
    0,
  );
  return <Loading from={loaded}>{(start) => <Bench source={start.source} event={start.event} />}</Loading>;
}

/** Without a sample, the newest event of the mapping is what one most likely has in mind. */
async function findLatest({ fields, samples }: MappingSource): Promise<BenchProps["event"]> {
  if (samples.length > 0 || fields.match?.path === undefined) return undefined;
  const { events } = await get("/api/events", { hook: fields.match.path, limit: 1 });
  return events[0] && get("/api/events/:id", { id: events[0].id });
}

interface Request {
  hook: string;
  payload: string;
  headers: Record<string, string>;
  query: Record<string, string>;
}

interface BenchProps {
  source: MappingSource;
  event?: {
    hook: string;
    request: { payload: unknown; headers: Record<string, string>; query: Record<string, string> };
  };
}

function Bench({ source, event }: BenchProps): JSX.Element {
  const { sample = event ? "" : (source.samples[0]?.name ?? ""), view } = route.value.query;
  const [request, setRequest] = useState<Request>(() => toRequest(source, event, sample));
  const [fields, setFields] = useState<Record<string, string>>(() => textFieldsOf(source));
  const [code, setCode] = useState(source.transform?.code);
  const payload = useMemo(() => parse(request.payload), [request.payload]);
  const tried = useTrial(source, { request, payload, fields, code });
  const paths = useMemo(() => namesOf(payload.value, request), [payload.value]);
  const problemsOf = (name: string): Problem[] => findProblems(tried.trial, name, source);
  const choose = (name: string): void => {
    setQuery({ sample: name });
    setRequest(toRequest(source, event, name));
  };
  return (
    <div class="playground">
      <div>
        <Field label="Payload">
          {(source.samples.length > 0 || event) && (
            <select aria-label="Sample" value={sample} onChange={(changed) => choose(changed.currentTarget.value)}>
              {event && <option value="">of the event</option>}
              {source.samples.map(({ name }) => (
                <option key={name} value={name}>
                  sample {name}
                </option>
              ))}
            </select>
          )}
          <Editor
            key={sample}
            label="Payload"
            language="text"
            text={request.payload}
            names={() => []}
            problems={payload.error === undefined ? [] : [{ message: payload.error }]}
            onChange={(text) => setRequest((before) => ({ ...before, payload: text }))}
          />
        </Field>
        {code !== undefined && (
          <Field label={`transform: ${source.transform?.file.split(/[\\/]/).at(-1) ?? ""}`}>
            <Editor
              label="transform"
              language="typescript"
              text={code}
              names={() => [...paths.map(toScriptName), ...AUTHOR_NAMES]}
              problems={problemsOf("transform")}
              onChange={setCode}
            />
          </Field>
        )}
        {Object.entries(fields).map(([name, text]) => (
          <Field key={name} label={name}>
            <Editor
              label={name}
              language="template"
              text={text}
              hint={`${name} is not set`}
              names={() => [...paths, ...HELPERS]}
              problems={problemsOf(name)}
              onChange={(changed) => setFields((before) => ({ ...before, [name]: changed }))}
            />
          </Field>
        ))}
        <AddField fields={fields} onAdd={(name) => setFields((before) => ({ ...before, [name]: "" }))} />
        <CopyToFile source={source} fields={fields} code={code} />
      </div>
      <div class="result" aria-live="polite">
        <p class="choices" role="group" aria-label="View">
          <button type="button" aria-pressed={view !== "week"} onClick={() => setQuery({ view: "" })}>
            This payload
          </button>
          <button type="button" aria-pressed={view === "week"} onClick={() => setQuery({ view: "week" })}>
            The last week
          </button>
          {view !== "week" && tried.trial && (
            <span class="quiet">{formatMs(tried.trial.durationMs)} in the service</span>
          )}
        </p>
        {view === "week" ? <Week draft={{ mapping: toDraft(source, fields), code }} /> : <Result {...tried} />}
      </div>
    </div>
  );
}

function toRequest({ fields, samples }: MappingSource, event: BenchProps["event"], sample: string): Request {
  const chosen = samples.find(({ name }) => name === sample);
  const { payload, headers, query } = chosen ?? event?.request ?? { payload: { example: "value" } };
  return {
    hook: event?.hook ?? fields.match?.path ?? "new",
    payload: JSON.stringify(payload, undefined, 2),
    headers: toStrings(headers),
    query: toStrings(query),
  };
}

function toStrings(values: unknown): Record<string, string> {
  if (typeof values !== "object" || values === null) return {};
  return Object.fromEntries(Object.entries(values).filter(([, value]) => typeof value === "string"));
}

const TEMPLATES = [
  "messageTemplate",
  "textTemplate",
  "name",
  "sessionKey",
  "channel",
  "to",
  "model",
  "thinking",
  "dedupe",
] as const;

/** The templates that are set, and the one that every mapping needs. */
function textFieldsOf({ fields, transform }: MappingSource): Record<string, string> {
  const needed = fields.action === "wake" ? "textTemplate" : "messageTemplate";
  const shown = TEMPLATES.filter((name) => fields[name] !== undefined || (name === needed && !transform));
  return Object.fromEntries(shown.map((name) => [name, fields[name] ?? ""]));
}

function AddField({ fields, onAdd }: { fields: Record<string, string>; onAdd(name: string): void }): JSX.Element {
  return (
    <select aria-label="Add a field" value="" onChange={(event) => onAdd(event.currentTarget.value)}>
      <option value="">Add a field</option>
      {TEMPLATES.filter((name) => fields[name] === undefined).map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

interface Tried {
  trial?: Trial;
  error?: string;
}

interface Work {
  request: Request;
  payload: { value?: unknown; error?: string };
  fields: Record<string, string>;
  code: string | undefined;
}

/** Tries the work whenever it changes; an answer to an earlier state is not shown. */
function useTrial(source: MappingSource, { request, payload, fields, code }: Work): Tried {
  const [tried, setTried] = useState<Tried>({});
  useEffect(() => {
    if (payload.error !== undefined) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const { hook, headers, query } = request;
      const mapping = toDraft(source, fields);
      const body = { hook, payload: payload.value, headers, query, mapping, code };
      post("/api/try", {}, { body, stop: stop.signal }).then(
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
function toDraft(source: MappingSource, fields: Record<string, string>): { id: string; [field: string]: unknown } {
  const base = source === NEW ? source.fields : {};
  const changed = TEMPLATES.filter(
    (name) => fields[name] !== undefined && fields[name] !== (source.fields[name] ?? ""),
  );
  return { ...base, id: source.id, ...Object.fromEntries(changed.map((name) => [name, fields[name] || null])) };
}

function Result({ trial, error }: Tried): JSX.Element {
  if (error !== undefined) return <p class="problem">{toVisible(error)}</p>;
  if (!trial) return <p class="quiet">…</p>;
  if (!trial.ok) return <Refusal trial={trial} />;
  return (
    <>
      {trial.warnings.map((warning) => (
        <p key={warning} class="problem mild">
          {toVisible(warning)}
        </p>
      ))}
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
      {detail !== undefined && (
        <pre class="detail" tabIndex={0}>
          {toVisible(detail)}
        </pre>
      )}
      {problems.map(({ key, message, line, column, excerpt }, index) => (
        <pre key={index} class="detail" tabIndex={0}>
          {key ?? ""} {line !== undefined && `line ${line}, column ${column ?? 1}`} {toVisible(message)}
          {excerpt !== undefined && `\n${toVisible(excerpt)}`}
        </pre>
      ))}
      <Log log={log} />
    </>
  );
}

function Log({ log }: Pick<Trial, "log">): JSX.Element | null {
  if (log.length === 0) return null;
  return (
    <pre class="log">
      {log.map(({ level, text }, index) => (
        <div key={index} class={`level-${level}`}>
          <span class="quiet">{level}</span> {toVisible(text)}
        </div>
      ))}
    </pre>
  );
}

/** Shown elsewhere, or of no interest to who writes the mapping. */
const OWN_PLACE = ["text", "message", "instructions", "trustedName", "allowUnsafeExternalContent"];

function Action({ action }: { action: (Trial & { ok: true })["actions"][number] }): JSX.Element {
  const { kind, ...rest } = action;
  const text = action.kind === "wake" ? action.text : action.message;
  return (
    <article class="entry user">
      <header>
        <b>{kind}</b>
        {action.instructions !== undefined && <span>with instructions</span>}
        {action.allowUnsafeExternalContent && <span class="warn">outside the boundary</span>}
      </header>
      <Prompt text={text} />
      <dl class="pairs">
        {Object.entries(rest)
          .filter(([name, value]) => !OWN_PLACE.includes(name) && value !== undefined)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{toLine(typeof value === "string" ? value : JSON.stringify(value), 300)}</dd>
            </div>
          ))}
      </dl>
    </article>
  );
}

/** What belongs to the place: the field of the mapping, or the transform's own text. */
function findProblems(trial: Trial | undefined, name: string, { transform }: MappingSource): Problem[] {
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
function Week({ draft }: { draft: { mapping: object; code?: string } }): JSX.Element {
  const [state, setState] = useState<{ diff?: Diff; error?: string; isBusy?: boolean }>({});
  const compare = (): void => {
    setState({ isBusy: true });
    post("/api/diff", {}, { body: draft }).then(
      (diff) => setState({ diff }),
      (error: unknown) => setState({ error: error instanceof Error ? error.message : String(error) }),
    );
  };
  return (
    <>
      <p>
        <button type="button" class="main" disabled={state.isBusy} onClick={compare}>
          {state.isBusy ? "Comparing…" : "Compare with what is loaded"}
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

/** The text for the file: the page never writes it itself. */
function CopyToFile({
  source,
  fields,
  code,
}: {
  source: MappingSource;
  fields: Record<string, string>;
  code?: string;
}): JSX.Element {
  const { id, file, key, transform, preset } = source;
  const set = Object.fromEntries(Object.entries(fields).filter(([, text]) => text !== ""));
  const mapping = JSON.stringify({ ...source.fields, id, ...set }, undefined, 2);
  return (
    <div class="panel">
      <h3>Copy to file</h3>
      <p>
        <Copy text={mapping} label="Copy mapping" />{" "}
        <span class="quiet">{file === undefined ? "into hooks.mappings" : `${file} › ${key}`}</span>
      </p>
      {transform && code !== undefined && (
        <p>
          <Copy text={code} label="Copy transform" /> <span class="quiet">{transform.file}</span>
        </p>
      )}
      {preset !== undefined && (
        <p class="quiet">
          It is of the preset {preset}: <code>webhooks presets copy {preset}</code> makes it yours.
        </p>
      )}
    </div>
  );
}

function Field({
  label,
  children,
}: {
  label: string;
  children: JSX.Element | (JSX.Element | false | undefined)[];
}): JSX.Element {
  return (
    <div class="field">
      <h3>{label}</h3>
      {children}
    </div>
  );
}

/** Loads the editor when it is first shown. It starts with `text`, and keeps its own from then on. */
function Editor({ problems, ...options }: EditorOptions & { problems: readonly Problem[] }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorHandle>(undefined);
  const latest = useRef(options);
  latest.current = options;
  const problemsKey = JSON.stringify(problems);
  useEffect(() => {
    let isGone = false;
    const start = async (): Promise<void> => {
      const { createEditor } = await import("./editor.ts");
      if (isGone || !host.current) return;
      editor.current = createEditor(host.current, {
        ...latest.current,
        names: () => latest.current.names(),
        onChange: (text) => latest.current.onChange(text),
      });
      editor.current.setProblems(problems);
    };
    void start();
    return () => {
      isGone = true;
      editor.current?.destroy();
    };
  }, []);
  useEffect(() => editor.current?.setProblems(problems), [problemsKey]);
  return (
    <>
      <div class="editor" ref={host} />
      {problems.map(({ message }) => (
        <p key={message} class="problem">
          {toVisible(message)}
        </p>
      ))}
    </>
  );
}

function namesOf(payload: unknown, { headers, query }: Request): Name[] {
  return [
    ...listPaths(payload).map(({ path, value }) => ({ label: path, detail: value })),
    ...Object.entries(headers).map(([name, value]) => ({ label: `headers.${name}`, detail: toLine(value, 60) })),
    ...Object.entries(query).map(([name, value]) => ({ label: `query.${name}`, detail: toLine(value, 60) })),
  ];
}

/** `payload.items.[0].a-b` → `payload.items[0]["a-b"]` */
function toScriptName({ label, detail }: Name): Name {
  const script = label
    .replaceAll(/\.\[(\d+)\]/g, "[$1]")
    .replaceAll(/\.\[([^\]]+)\]/g, (_all, key: string) => `[${JSON.stringify(key)}]`)
    .replaceAll(/\.([\w$]*-[\w$-]*)/g, (_all, key: string) => `[${JSON.stringify(key)}]`);
  return { label: script, detail };
}

const named = (detail: string, labels: string): Name[] => labels.split(" ").map((label) => ({ label, detail }));

const HELPERS = [
  ...named("helper", "json default truncate before join brief lower upper date eq and or not lookup"),
  ...named("block", "#if #unless #each #with else /if /unless /each /with"),
  ...named("request", "headers query path method now item index"),
];

const AUTHOR_NAMES = [
  ...named("input", "payload rawBody headers query path method now base secrets item index"),
  ...named(
    "action field",
    "kind message text name sessionKey wakeMode mode deliver channel to model thinking timeoutSeconds",
  ),
  ...named("base", "base.message base.text base.name base.sessionKey base.deliver base.channel base.to base.kind"),
  ...named("keyword", "export default const return null undefined console.log"),
];
