import type { ComponentChildren, JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { TEMPLATE_FIELDS } from "../../../core/config/settings.ts";
import { call, type EventView, type MappingSource } from "../api-client.ts";
import { Copy, notifyOf } from "../parts/controls.tsx";
import { type Draft, useDraft } from "../parts/draft.ts";
import { escapeHidden, formatMs, parseJson, toLine, toWholeTime } from "../parts/format.ts";
import { useWidget } from "../parts/load.tsx";
import { Choices } from "../parts/table.tsx";
import { listSuggestions } from "../parts/tree.tsx";
import { route, setQuery } from "../router.ts";
import { Comparison, Result, useTrial } from "./draft-trial.tsx";
import type { EditorOptions, Problem } from "./editor.ts";
import {
  type EditedMapping,
  FIELD_NAMES,
  parseTexts,
  type StartEvent,
  toEdited,
  toMappingText,
  toRequest,
} from "./fields.ts";

interface WorkbenchProps {
  /** Names the mapping and the event, for the drafts. */
  name: string;
  source: MappingSource;
  event: StartEvent | undefined;
  /** The newest of its hook. */
  events: readonly EventView[];
  /** The page may write files. */
  saves: boolean;
  reload(): void;
}

export function Workbench({ name, source, event, events, saves, reload }: WorkbenchProps): JSX.Element {
  const { sample = event ? "" : (source.samples[0]?.name ?? ""), view: given } = route.value.query;
  const view = given === "week" ? given : "";
  const posted = useDraft(`${name} ${sample}`, () => toRequest(source, event, sample));
  const written = useDraft(name, () => toEdited(source));
  const { fields, others, files } = written.work;
  const change = (changed: Partial<EditedMapping>): void => written.change({ ...written.work, ...changed });
  const payload = useMemo(() => parseJson(posted.work.payload), [posted.work.payload]);
  const headers = useMemo(() => parseTexts(posted.work.headers), [posted.work.headers]);
  const query = useMemo(() => parseTexts(posted.work.query), [posted.work.query]);
  const request = { hook: posted.work.hook, headers: headers.value, query: query.value };
  const draft = { mapping: toMappingText(written.work), ...(Object.keys(files).length > 0 && { files }) };
  const isReadable = [payload, headers, query].every(({ error }) => error === undefined);
  const tried = useTrial(isReadable ? { ...request, payload: payload.value, ...draft } : undefined);
  const paths = useMemo(() => listSuggestions(payload.value, request), [payload.value, headers, query]);
  const found = tried.trial?.ok === false ? (tried.trial.problems ?? []) : [];
  const problemsOf = (place: string): Problem[] => found.filter((problem) => problem.place === place);
  const begin = (): void => {
    const body = { name: source.id.replaceAll(/[^\w-]/g, "-"), payload: payload.value };
    const work = call("POST /api/transforms", {}, { body });
    void notifyOf(work, undefined, "No transform was begun").then(
      (begun) => begun && change({ files: begun.files, fields: {} }),
    );
  };
  return (
    <div class="playground">
      <div>
        <Unsaved drafts={[posted, written]} />
        <EditedField
          label="Payload"
          origin={posted.origin}
          text={posted.work.payload}
          language="json5"
          problems={toProblems(payload.error)}
          onChange={(text) => posted.change({ ...posted.work, payload: text })}
        >
          <Starts source={source} hasEvent={event !== undefined} events={events} sample={sample} />
        </EditedField>
        <details class="field">
          <summary>
            Hook, headers and query <span class="quiet">of the request</span>
          </summary>
          <label>
            Hook
            <input
              value={posted.work.hook}
              onInput={({ currentTarget }) => posted.change({ ...posted.work, hook: currentTarget.value })}
            />
          </label>
          {(["headers", "query"] as const).map((part) => (
            <EditedField
              key={part}
              label={part}
              origin={posted.origin}
              text={posted.work[part]}
              problems={toProblems((part === "headers" ? headers : query).error)}
              onChange={(text) => posted.change({ ...posted.work, [part]: text })}
            />
          ))}
        </details>
        {Object.keys(files).length > 0 ? (
          <Modules
            files={files}
            origin={written.origin}
            paths={() => paths}
            problemsOf={problemsOf}
            onChange={(file, text) => change({ files: { ...files, [file]: text } })}
          />
        ) : (
          <p class="actions">
            Made by a template. <button onClick={begin}>Begin a transform in TypeScript</button>
          </p>
        )}
        {Object.entries(fields).map(([field, text]) => (
          <EditedField
            key={field}
            label={field}
            origin={written.origin}
            language="template"
            text={text}
            hint={`${field} is not set`}
            paths={() => paths}
            problems={problemsOf(field).map(({ message }) => ({ message }))}
            onChange={(changed) => change({ fields: { ...fields, [field]: changed } })}
          />
        ))}
        <select
          aria-label="Add a field"
          value=""
          onChange={({ currentTarget }) => change({ fields: { ...fields, [currentTarget.value]: "" } })}
        >
          <option value="">Add a field</option>
          {TEMPLATE_FIELDS.filter((field) => fields[field] === undefined).map((field) => (
            <option key={field}>{field}</option>
          ))}
        </select>
        <EditedField
          title="All other fields, as JSON5: id, match, and the rest"
          label="other fields"
          origin={written.origin}
          language="json5"
          text={others}
          paths={() => FIELD_NAMES.map((label) => ({ label }))}
          problems={problemsOf("mapping")}
          onChange={(text) => change({ others: text })}
        />
        <ToFile source={source} work={written} saves={saves} reload={reload} />
      </div>
      <div class="result" aria-live="polite">
        <Choices
          label="View"
          parameter="view"
          names={["", "week"]}
          chosen={view}
          textOf={(choice) => (choice === "week" ? "The last week" : "This payload")}
        >
          {view === "" && tried.trial && <span class="quiet">{formatMs(tried.trial.durationMs)} in the service</span>}
        </Choices>
        {view === "week" ? <Comparison draft={draft} /> : <Result {...tried} />}
      </div>
    </div>
  );
}

interface StartsProps extends Pick<WorkbenchProps, "source" | "events"> {
  hasEvent: boolean;
  sample: string;
}

/** The start of the payload: the event, a sample, or another event of the hook. */
function Starts({ source: { samples }, hasEvent, events, sample }: StartsProps): JSX.Element | null {
  if (samples.length + events.length === 0) return null;
  const choose = (value: string): void =>
    setQuery(value.startsWith("event ") ? { event: value.slice(6), sample: undefined } : { sample: value });
  return (
    <select aria-label="Sample" value={sample} onChange={({ currentTarget }) => choose(currentTarget.value)}>
      {hasEvent && <option value="">from the event</option>}
      {samples.map(({ name }) => (
        <option key={name} value={name}>
          sample {name}
        </option>
      ))}
      {events.map(({ id, receivedAt, subject, outcome }) => (
        <option key={id} value={`event ${id}`}>
          event {toLine(`${toWholeTime(receivedAt)}: ${subject ?? outcome}`, 100)}
        </option>
      ))}
    </select>
  );
}

/** That something has been changed, also by an earlier visit, and the way back. */
function Unsaved({ drafts }: { drafts: Draft<unknown>[] }): JSX.Element | null {
  const changed = drafts.filter(({ isChanged }) => isChanged);
  if (changed.length === 0) return null;
  return (
    <p class="facts" role="status">
      <span class="quiet">Your changes are in no file. This tab keeps them.</span>
      <button class="small" onClick={() => changed.forEach((draft) => draft.discard())}>
        Discard changes
      </button>
    </p>
  );
}

const toProblems = (message: string | undefined): Problem[] => (message === undefined ? [] : [{ message }]);

interface ModulesProps extends Pick<EditorOptions, "paths"> {
  files: Record<string, string>;
  origin: string;
  problemsOf(file: string): Problem[];
  onChange(file: string, text: string): void;
}

/** The module of the transform, and a tab for each that it imports. */
function Modules({ files, origin, problemsOf, onChange, paths }: ModulesProps): JSX.Element {
  const names = Object.keys(files);
  const [chosen, choose] = useState(names[0] ?? "");
  const file = names.includes(chosen) ? chosen : (names[0] ?? "");
  return (
    <EditedField
      title="Transform"
      label="transform"
      origin={`${origin} ${file}`}
      language="typescript"
      text={files[file] ?? ""}
      paths={paths}
      problems={problemsOf(file)}
      onChange={(text) => onChange(file, text)}
    >
      <p class="choices" role="group" aria-label="Module">
        {names.map((name) => (
          <button key={name} aria-pressed={name === file} onClick={() => choose(name)}>
            {toLine(name, 60)}
            {problemsOf(name).length > 0 && <span class="bad"> ●</span>}
          </button>
        ))}
      </p>
    </EditedField>
  );
}

interface ToFileProps extends Pick<WorkbenchProps, "source" | "saves" | "reload"> {
  work: Draft<EditedMapping>;
}

/** *Save* writes the mapping where it stands, under `dev`. Elsewhere, and for a preset, its text is copied. */
function ToFile({ source, work, saves, reload }: ToFileProps): JSX.Element {
  const { id, file, key, transform, preset, fields } = source;
  const text = toMappingText(work.work, "\n  ");
  const { files } = work.work;
  const save = (): void => {
    const body = {
      mapping: text,
      ...(key !== "" && { expected: { ...fields, id } }),
      files: Object.fromEntries(
        Object.entries(files).map(([name, code]) => [name, { text: code, expected: transform?.files[name] ?? null }]),
      ),
    };
    void notifyOf(
      call("PUT /api/mappings", {}, { body }),
      ({ written }) => (written.length === 0 ? "Nothing to save." : `Saved: ${written.join(", ")}`),
      "Not saved",
    ).then((saved) => saved && (work.discard(), reload()));
  };
  return (
    <div class="panel">
      <p class="actions">
        {saves && preset === undefined && (
          <button class="main" onClick={save}>
            Save
          </button>
        )}
        <Copy text={text} label="Copy mapping" />
        {Object.entries(files).map(([name, code]) => (
          <Copy key={name} text={code} label={`Copy ${name}`} />
        ))}
      </p>
      <p class="quiet">{file === undefined ? "It goes into hooks.mappings." : `${file} › ${key}`}</p>
      {preset !== undefined && (
        <p class="quiet">
          It belongs to the preset {preset}. To change it: <code>npx hookline presets copy {preset}</code>
        </p>
      )}
      {!saves && preset === undefined && (
        <p class="quiet">
          <code>npx hookline dev</code> on this machine saves from here.
        </p>
      )}
    </div>
  );
}

interface EditedFieldProps extends EditorOptions {
  /** Default: the label. */
  title?: string;
  /** With another one, the editor starts with `text` again; until then it keeps its own. */
  origin: string;
  problems: readonly Problem[];
  /** Between the title and the editor. */
  children?: ComponentChildren;
}

function EditedField({ title, origin, children, ...options }: EditedFieldProps): JSX.Element {
  return (
    <div class="field">
      <h3>{title ?? options.label}</h3>
      {children}
      <Editor key={origin} {...options} />
    </div>
  );
}

function Editor({ problems, ...options }: EditorOptions & { problems: readonly Problem[] }): JSX.Element {
  const latest = useRef(options);
  latest.current = options;
  const host = useWidget(
    async () => {
      const { createEditor } = await import("./editor.ts");
      const paths = () => latest.current.paths?.() ?? [];
      const onChange = (text: string) => latest.current.onChange(text);
      return (element) => createEditor(element, { ...latest.current, paths, onChange });
    },
    (editor) => editor.setProblems(problems),
    JSON.stringify(problems),
  );
  return (
    <>
      <div class="editor" ref={host} />
      {problems.map(({ message }) => (
        <p key={message} class="problem">
          {escapeHidden(message)}
        </p>
      ))}
    </>
  );
}
