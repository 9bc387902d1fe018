import { pick } from "../shared/json.ts";
import type { MappingInput } from "./schema/generated.ts";

/** How one setting of a mapping is used. Its type, default and description are in `schemas/mapping.json`. */
interface Setting {
  /** template: rendered for each item · value: taken as it is written · own: compiled by its own file, which may read the payload. */
  form: "template" | "value" | "own";
  /** `with` of a preset may replace the preset's own. */
  preset?: true;
  /** Stored with the turn, under its name. */
  stored?: true;
  /** Without effect on a wake (run), with `agent: "none"` (agent), with `action: "none"` (action). */
  needs?: readonly Need[];
  /** A field of OpenClaw's hooks, which needs `hooks.compat`. */
  compat?: true;
}

type Need = "run" | "agent" | "action";

/** Every setting of a mapping, in the order of pages and warnings. */
export const SETTINGS = {
  id: { form: "value" },
  description: { form: "value" },
  schedule: { form: "value" },
  match: { form: "value" },
  auth: { form: "value" },
  body: { form: "value" },
  schema: { form: "own" },
  mail: { form: "own" },
  forEach: { form: "own" },
  forEachNarrows: { form: "own" },
  event: { form: "own" },
  events: { form: "own" },
  ignore: { form: "own" },
  mention: { form: "own" },
  author: { form: "own" },
  asks: { form: "value" },
  from: { form: "own" },
  subject: { form: "template" },
  instructions: { form: "value", preset: true, needs: ["agent"] },
  messageTemplate: { form: "template", needs: ["action"] },
  textTemplate: { form: "template", needs: ["action"] },
  maxMessageLength: { form: "value" },
  name: { form: "template", preset: true },
  sessionKey: { form: "template", preset: true, needs: ["action"] },
  sessionPrefix: { form: "value", preset: true, needs: ["action"] },
  deliver: { form: "value", preset: true, needs: ["action"] },
  channel: { form: "template", preset: true, needs: ["action"] },
  to: { form: "template", preset: true, needs: ["action"] },
  source: { form: "own" },
  place: { form: "own" },
  update: { form: "value", preset: true },
  thread: { form: "value", preset: true, needs: ["run", "action"] },
  answer: { form: "value", preset: true },
  model: { form: "template", preset: true, needs: ["agent", "action"] },
  fallbackModels: { form: "value", preset: true, stored: true, needs: ["agent"] },
  thinking: { form: "template", preset: true, needs: ["agent"] },
  maxOutputTokens: { form: "value", preset: true, stored: true, needs: ["agent"] },
  onFailure: { form: "value", preset: true, stored: true, needs: ["agent"] },
  timeoutSeconds: { form: "value", preset: true, needs: ["agent"] },
  wakeMode: { form: "template", preset: true },
  concurrency: { form: "value", preset: true, needs: ["run"] },
  rateLimit: { form: "value", preset: true, needs: ["run"] },
  coalesce: { form: "own", preset: true, needs: ["run", "action"] },
  agent: { form: "value", stored: true, needs: ["run"] },
  review: { form: "value", preset: true, needs: ["run", "agent"] },
  grants: { form: "own", preset: true, needs: ["agent"] },
  context: { form: "own", preset: true },
  workspace: { form: "own", preset: true, needs: ["agent", "action"] },
  change: { form: "own" },
  attachments: { form: "own" },
  files: { form: "value", preset: true, needs: ["agent"] },
  agentId: { form: "value", compat: true },
  accountId: { form: "value", compat: true },
  sessionMode: { form: "value", compat: true },
  allowUnsafeExternalContent: { form: "value" },
  publish: { form: "own", preset: true },
  action: { form: "value", preset: true },
  transform: { form: "value", preset: true },
  state: { form: "value", preset: true },
  dedupe: { form: "template", preset: true },
  maxBodyBytes: { form: "value", preset: true },
  echo: { form: "template" },
  participants: { form: "template" },
} as const satisfies Record<keyof MappingInput, Setting>;

type Rows = typeof SETTINGS;
type SettingName = keyof Rows;
/** The settings whose rows have these columns. */
type NamesOf<Columns> = { [Name in SettingName]: Rows[Name] extends Columns ? Name : never }[SettingName];

export type TemplateField = NamesOf<{ form: "template" }>;
/** The settings that are stored with a turn as the mapping has them. */
export type StoredSettings = Pick<MappingInput, NamesOf<{ stored: true }>>;

export const TEMPLATE_FIELDS = namesOf<TemplateField>(({ form }) => form === "template");
export const PRESET_SETTINGS = namesOf<NamesOf<{ preset: true }>>(({ preset }) => preset === true);
export const COMPAT_SETTINGS = namesOf<NamesOf<{ compat: true }>>(({ compat }) => compat === true);
const STORED_SETTINGS = namesOf<keyof StoredSettings>(({ stored }) => stored === true);

export function listNeeding(need: Need): SettingName[] {
  return namesOf(({ needs }) => needs?.includes(need) === true);
}

/** Whether a setting's value may say something about the payload. */
export function mayReadPayload(name: string): boolean {
  return !isSetting(name) || SETTINGS[name].form !== "value";
}

export function toStored(mapping: StoredSettings): StoredSettings {
  return pick(mapping, STORED_SETTINGS);
}

function namesOf<Name extends SettingName>(isOne: (setting: Setting) => boolean): Name[] {
  return Object.keys(SETTINGS).filter((name): name is Name => isSetting(name) && isOne(SETTINGS[name]));
}

function isSetting(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name);
}
