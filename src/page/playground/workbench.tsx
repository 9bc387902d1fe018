import type { ComponentChildren, JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { TEMPLATE_FIELDS } from "../../types.ts";
import type { MappingSource } from "../api.ts";
import { Copy, formatMs, parseJson, toVisible } from "../parts/controls.tsx";
import { type Draft, useDraft } from "../parts/draft.ts";
import { useWidget } from "../parts/load.tsx";
import { listSuggestions } from "../parts/tree.tsx";
import { route, setQuery } from "../router.ts";
import type { EditorOptions, Problem } from "./editor.ts";
import { Comparison, findProblems, Result, toDraft, useTrial } from "./trial.tsx";
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
  const { sample = event ? "" : (source.samples[0]?.name ?? ""), view } = route.value.query;
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
        <Field label="Payload">
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
          <Editor
            key={posted.origin}
            label="Payload"
            language="text"
            text={posted.work.payload}
            paths={() => []}
            problems={toProblems(payload.error)}
            onChange={(text) => posted.change({ ...posted.work, payload: text })}
          />
        </Field>
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
            <Field key={part} label={part}>
              <Editor
                key={posted.origin}
                label={part}
                language="text"
                text={posted.work[part]}
                paths={() => []}
                problems={toProblems((part === "headers" ? headers : query).error)}
                onChange={(text) => posted.change({ ...posted.work, [part]: text })}
              />
            </Field>
          ))}
        </details>
        {code !== undefined && (
          <Field label={`transform: ${source.transform?.file.split(/[\\/]/).at(-1) ?? ""}`}>
            <Editor
              key={written.origin}
              label="transform"
              language="typescript"
              text={code}
              paths={() => paths}
              problems={problemsOf("transform")}
              onChange={(text) => written.change({ ...written.work, code: text })}
            />
          </Field>
        )}
        {Object.entries(fields).map(([field, text]) => (
          <Field key={field} label={field}>
            <Editor
              key={written.origin}
              label={field}
              language="template"
              text={text}
              hint={`${field} is not set`}
              paths={() => paths}
              problems={problemsOf(field)}
              onChange={(changed) => setField(field, changed)}
            />
          </Field>
        ))}
        <AddField fields={fields} onAdd={(field) => setField(field, "")} />
        <Field label="All other fields: id, match, and the rest">
          <Editor
            key={written.origin}
            label="other fields"
            language="text"
            text={others}
            paths={() => []}
            problems={[
              ...toProblems(parsed.error),
              ...Object.keys(parsed.value).flatMap((field) => problemsOf(field).map(({ message }) => ({ message }))),
            ]}
            onChange={(text) => written.change({ ...written.work, others: text })}
          />
        </Field>
        <CopyToFile source={source} mapping={{ ...parsed.value, ...withoutBlank(fields) }} code={code} />
      </div>
      <div class="result" aria-live="polite">
        <p class="choices" role="group" aria-label="View">
          <button aria-pressed={view !== "week"} onClick={() => setQuery({ view: "" })}>
            This payload
          </button>
          <button aria-pressed={view === "week"} onClick={() => setQuery({ view: "week" })}>
            The last week
          </button>
          {view !== "week" && tried.trial && (
            <span class="quiet">{formatMs(tried.trial.durationMs)} in the service</span>
          )}
        </p>
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

function Field({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="field">
      <h3>{label}</h3>
      {children}
    </div>
  );
}

/** It starts with `text`, and keeps its own from then on. */
function Editor({ problems, ...options }: EditorOptions & { problems: readonly Problem[] }): JSX.Element {
  const latest = useRef(options);
  latest.current = options;
  const host = useWidget(
    async () => {
      const { createEditor } = await import("./editor.ts");
      const paths = () => latest.current.paths();
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
          {toVisible(message)}
        </p>
      ))}
    </>
  );
}
