import { TEMPLATE_FIELDS } from "../../../core/config/settings.ts";
import { toScheduleHook } from "../../../core/types.ts";
import type { MappingSource } from "../api-client.ts";
import { parseJson } from "../parts/format.ts";

/** The start of a trial: a stored event, or a recorded request. */
export interface StartEvent {
  hook: string;
  request: { payload: unknown; headers: Record<string, string>; query: Record<string, string> };
}

/** The request as it is edited. */
interface EditedRequest {
  hook: string;
  /** JSON. */
  payload: string;
  headers: string;
  query: string;
}

/** The hook of a mapping, if it names one. */
export function hookOf({ id, fields }: MappingSource): string | undefined {
  return fields.schedule ? toScheduleHook(id) : fields.match?.path;
}

export function toRequest(source: MappingSource, event: StartEvent | undefined, sample: string): EditedRequest {
  const { samples } = source;
  const chosen = samples.find(({ name }) => name === sample);
  const { payload, headers, query } = chosen ?? event?.request ?? { payload: { example: "value" } };
  const write = (value: unknown): string => JSON.stringify(value, undefined, 2);
  return {
    hook: event?.hook ?? hookOf(source) ?? "new",
    payload: write(payload),
    headers: write(toStrings(headers)),
    query: write(toStrings(query)),
  };
}

export function parseObject(text: string): { value: Record<string, unknown>; error?: string } {
  const { value, error } = parseJson(text);
  if (error !== undefined) return { value: {}, error };
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { value: {}, error: "This must be an object: { … }." };
  }
  return { value: { ...value } };
}

/** An object whose values are texts. */
export function parseTexts(text: string): { value: Record<string, string>; error?: string } {
  const { value, error } = parseObject(text);
  const texts = toStrings(value);
  const other = Object.keys(value).find((name) => texts[name] === undefined);
  return { value: texts, error: error ?? (other === undefined ? undefined : `The value of ${other} must be a text.`) };
}

export function withoutBlank(fields: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([, text]) => text !== ""));
}

/** The id, and the fields that are no templates. */
export function otherFieldsOf({ id, fields }: MappingSource): Record<string, unknown> {
  const templates: readonly string[] = TEMPLATE_FIELDS;
  return { id, ...Object.fromEntries(Object.entries(fields).filter(([name]) => !templates.includes(name))) };
}

function toStrings(values: unknown): Record<string, string> {
  if (typeof values !== "object" || values === null) return {};
  return Object.fromEntries(Object.entries(values).filter(([, value]) => typeof value === "string"));
}

/** The templates that are set, and the one that every mapping needs. */
export function textFieldsOf({ fields, transform }: MappingSource): Record<string, string> {
  const needed = fields.action === "wake" ? "textTemplate" : "messageTemplate";
  const shown = TEMPLATE_FIELDS.filter((name) => fields[name] !== undefined || (name === needed && !transform));
  return Object.fromEntries(shown.map((name) => [name, fields[name] ?? ""]));
}
