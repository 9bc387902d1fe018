import type { ComponentChildren, JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { TEMPLATE_FIELDS } from "../../../core/config/settings.ts";
import type { MappingSource } from "../api-client.ts";
import { Copy } from "../parts/controls.tsx";
import { escapeHidden, formatMs, parseJson } from "../parts/format.ts";
import { type Draft, useDraft } from "../parts/draft.ts";
import { useWidget } from "../parts/load.tsx";
import { Choices } from "../parts/table.tsx";
import { listSuggestions } from "../parts/tree.tsx";
import { route, setQuery } from "../router.ts";
import type { EditorOptions, Problem } from "./editor.ts";
import { Comparison, findProblems, Result, toDraft, useTrial } from "./draft-trial.tsx";
import {
  type StartEvent,
  toRequest,
  parseObject,
  parseTexts,
  withoutBlank,
  otherFieldsOf,
  textFieldsOf,
} from "./fields.ts";

interface WorkbenchProps {
  /** Names the mapping and the event, for the drafts. */
  name: string;
  source: MappingSource;
  event?: StartEvent;
}

export function Workbench({ name, source, event }: WorkbenchProps): JSX.Element {
  const { sample = event ? "" : (source.samples[0]?.name ?? ""), view: given } = route.value.query;
  const view = given === "week" ? given : "";
  const posted = useDraft(`${name} ${sample}`, () => toRequest(source, event, sample));
  const written = useDraft(name, () => ({
    fields: textFieldsOf(source),
    others: JSON.stringify(otherFieldsOf(source), undefined, 2),
    code: source.transform?.code,
  }));
  const { fields, others, code } = written.work;
  const setField = (field: string, text: string): void =>
    written.change({ ...written.work, fields: { ...fields, [field]: text } });
  const payload = useMemo(() => parseJson(posted.work.payload), [posted.work.payload]);
  const headers = useMemo(() => parseTexts(posted.work.headers), [posted.work.headers]);
  const query = useMemo(() => parseTexts(posted.work.query), [posted.work.query]);
  const request = useMemo(
    () => ({ hook: posted.work.hook, headers: headers.value, query: query.value }),
    [posted.work.hook, headers, query],
  );
  const parsed = useMemo(() => parseObject(others), [others]);
  const draft = useMemo(() => toDraft(source, { fields, others: parsed.value }), [fields, parsed]);
  const error = payload.error ?? headers.error ?? query.error ?? parsed.error;
  const tried = useTrial({ request, payload: payload.value, error, draft, code });
  const paths = useMemo(() => listSuggestions(payload.value, request), [payload.value, request]);
  const problemsOf = (field: string): Problem[] => findProblems(tried.trial, field, source);
  return (
    <div class="playground">
      <div>
        <Unsaved drafts={[posted, written]} />
        <EditedField
          label="Payload"
          origin={posted.origin}
          text={posted.work.payload}
          problems={toProblems(payload.error)}
          onChange={(text) => posted.change({ ...posted.work, payload: text })}
        >
          {(source.samples.length > 0 || event) && (
            <select
              aria-label="Sample"
              value={sample}
              onChange={(changed) => setQuery({ sample: changed.currentTarget.value })}
            >
              {event && <option value="">from the event</option>}
              {source.samples.map((each) => (
                <option key={each.name} value={each.name}>
                  sample {each.name}
                </option>
              ))}
            </select>
          )}
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
        {code !== undefined && (
          <EditedField
            title={`transform: ${source.transform?.file.split(/[\\/]/).at(-1) ?? ""}`}
            label="transform"
            origin={written.origin}
            language="typescript"
            text={code}
            paths={() => paths}
            problems={problemsOf("transform")}
            onChange={(text) => written.change({ ...written.work, code: text })}
          />
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
            problems={problemsOf(field)}
            onChange={(changed) => setField(field, changed)}
          />
        ))}
        <AddField fields={fields} onAdd={(field) => setField(field, "")} />
        <EditedField
          title="All other fields: id, match, and the rest"
          label="other fields"
          origin={written.origin}
          text={others}
          problems={[
            ...toProblems(parsed.error),
            ...Object.keys(parsed.value).flatMap((field) => problemsOf(field).map(({ message }) => ({ message }))),
          ]}
          onChange={(text) => written.change({ ...written.work, others: text })}
        />
        <CopyToFile source={source} mapping={{ ...parsed.value, ...withoutBlank(fields) }} code={code} />
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
        {view === "week" ? <Comparison draft={{ mapping: draft, code }} /> : <Result {...tried} />}
      </div>
    </div>
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

function AddField({ fields, onAdd }: { fields: Record<string, string>; onAdd(name: string): void }): JSX.Element {
  return (
    <select aria-label="Add a field" value="" onChange={(event) => onAdd(event.currentTarget.value)}>
      <option value="">Add a field</option>
      {TEMPLATE_FIELDS.filter((name) => fields[name] === undefined).map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

interface CopyToFileProps {
  source: MappingSource;
  mapping: object;
  code?: string;
}

/** The text for the file: the page never writes it itself. */
function CopyToFile({ source, mapping: written, code }: CopyToFileProps): JSX.Element {
  const { file, key, transform, preset } = source;
  const mapping = JSON.stringify(written, undefined, 2);
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
          It belongs to the preset {preset}. To change it: <code>npx hookline presets copy {preset}</code>
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
