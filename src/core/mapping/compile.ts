import path from "node:path";
import { parseDuration } from "../shared/time.ts";
import type { MappingInput } from "../config/schema/generated.ts";
import { findUnknownKeywords, toUnknownKeyword } from "../config/schema/keywords.ts";
import { compilePayloadCheck, type SchemaCheck } from "../config/schema/validator.ts";
import {
  mayReadPayload,
  type StoredSettings,
  TEMPLATE_FIELDS,
  type TemplateField,
  toStored,
} from "../config/settings.ts";
import type { MappingSource } from "../config/resolved-config.ts";
import { type ConfigProblem, messageOf } from "../errors.ts";
import type { RunLimit, RunLimits } from "../journal/journal.ts";
import type { Path } from "../shared/json.ts";
import { toScheduleCredential } from "../types.ts";
import type { TransformBundle } from "../transforms/runner.ts";
import { type CompiledAnswer, compileAnswer } from "./answer.ts";
import { compileMention, type MentionRule } from "./item/mention.ts";
import { compileStart, type FindStart } from "./item/start.ts";
import { compileContext, type CompiledContext } from "./context.ts";
import { type CompiledFiles, compileFiles } from "./item/attachments.ts";
import { type CompiledGrant, compileGrants } from "./policy/grants.ts";
import { compileFilter, compileMatch, type Filter, type Match } from "./match.ts";
import { parsePayloadPath } from "./pattern.ts";
import { type CompiledPublish, compilePublish } from "./publish.ts";
import { createDiagnostics, type Diagnostics } from "./diagnostics.ts";
import { type Bounds, compileBounds } from "./policy/bounds.ts";
import { type CompiledTarget, compileTargets, listTargetTemplates } from "./policy/targets.ts";
import { compileField, type Template } from "./template/template.ts";
import { type CompiledChange, compileChange, type CompiledWorkspace, compileWorkspace } from "./workspace.ts";

/** A mapping with everything that can be prepared before a request arrives. */
export interface CompiledMapping {
  source: MappingSource;
  /** The only credential that sees this mapping. undefined: every token does. */
  credential?: string;
  match: Match;
  check?: SchemaCheck;
  filter?: Filter;
  /** Who is behind an event. */
  findStart?: FindStart;
  /** Only what names the agent asks for something. */
  mention?: MentionRule;
  forEach?: ForEach;
  templates: { [Field in TemplateField]?: Template };
  /** The templates of `source`, the place of the event. */
  place?: { channel: Template; to: Template } & {
    [Field in "references" | "subject" | "replyTo" | "commit" | "audience" | "url"]?: Template;
  };
  /** The setting `place`. */
  bounds?: Bounds;
  /** The items of `deliver`, if it is a list. */
  targets?: CompiledTarget[];
  coalesce?: Coalesce;
  answer?: CompiledAnswer;
  /** Calls for context before the agent is asked. */
  context?: CompiledContext[];
  /** Files of the event for the agent. */
  files?: CompiledFiles[];
  grants?: CompiledGrant[];
  publish?: CompiledPublish;
  workspace?: CompiledWorkspace;
  change?: CompiledChange;
  /** Its settings that are stored with each turn. */
  stored: StoredSettings;
  bundle?: TransformBundle;
  /**
   * Whether anything but the transform reads the payload. If not, it is parsed in the sandbox alone: an event of 200 KB that
   * the transform skips takes 1.4 times as long when the service parses it too, one of 20 KB 1.26 times.
   */
  readsPayload: boolean;
}

export interface ForEach {
  /** The text in the configuration. */
  text: string;
  /** Where the array is in the payload. For `a[*].b`: where `a` is, and where `b` is in each of its items. */
  lists: Path[];
  /** Each action sees a payload whose array holds only its item. That of an array on the way always does. */
  narrows: boolean;
}

interface Coalesce {
  key: Template;
  windowMs: number;
}

export interface CompileOptions {
  bundle?: TransformBundle;
  credential?: string;
  /** Reads a schema file as text; throws if it cannot. */
  readFile: (path: string) => string;
}

/** Compiles a mapping. Reports every problem at once, each with file and key; with a problem there is no mapping. */
export function compileMapping(
  source: MappingSource,
  { bundle, credential, readFile }: CompileOptions,
): { mapping?: CompiledMapping; problems: ConfigProblem[]; warnings: ConfigProblem[] } {
  const diagnostics = createDiagnostics(source);
  const mapping: CompiledMapping = {
    source,
    credential: source.mapping.schedule ? toScheduleCredential(source.id) : credential,
    match: compileMatch(source.mapping.match ?? {}, diagnostics),
    check: compilePayloadSchema(source, readFile, diagnostics),
    filter: compileFilter(source.mapping, diagnostics),
    findStart: compileStart(source.mapping, diagnostics),
    mention: compileMention(source.mapping, diagnostics),
    forEach: compileForEach(source.mapping, diagnostics),
    templates: compileTemplates(source.mapping, diagnostics),
    place: compilePlace(source.mapping, diagnostics),
    bounds: compileBounds(source.mapping),
    targets: compileTargets(source.mapping, diagnostics),
    coalesce: compileCoalesce(source.mapping, diagnostics),
    answer: compileAnswer(source.mapping, diagnostics),
    context: compileContext(source.mapping, diagnostics),
    files: compileFiles(source.mapping, diagnostics),
    grants: compileGrants(source.mapping, diagnostics),
    publish: compilePublish(source.mapping, diagnostics),
    workspace: compileWorkspace(source.mapping, diagnostics),
    change: compileChange(source.mapping, diagnostics),
    stored: toStored(source.mapping),
    bundle,
    readsPayload: true,
  };
  mapping.readsPayload = !bundle || readsPayload(mapping);
  reportMisplacedItem(mapping, diagnostics);
  reportFixedItem(mapping, diagnostics);
  reportConstantDedupe(mapping, diagnostics);
  const { problems, warnings } = diagnostics;
  return problems.length > 0 ? { problems, warnings } : { mapping, problems, warnings };
}

/** The limits of the mappings that have any, by mapping id. */
export function toRunLimits(mappings: readonly CompiledMapping[]): RunLimits {
  const limits = new Map<string, RunLimit>();
  for (const { source } of mappings) {
    const { concurrency, rateLimit } = source.mapping;
    if (rateLimit) {
      const { max, per = "1m" } = rateLimit;
      limits.set(source.id, { concurrency, rate: { max, perMs: parseDuration(per) } });
    } else if (concurrency !== undefined) {
      limits.set(source.id, { concurrency });
    }
  }
  return limits;
}

/** Fields of a template's context besides the payload. */
const REQUEST_FIELDS: ReadonlySet<string> = new Set(["headers", "query", "path", "method", "now"]);

function readsPayload({ source, templates, targets }: CompiledMapping): boolean {
  const isOfRequest = (template: Template | undefined): boolean => template?.fields.isSubsetOf(REQUEST_FIELDS) === true;
  if (!listTargetTemplates(targets).every(([, template]) => isOfRequest(template))) return true;
  const templateOf = new Map<string, Template>(Object.entries(templates));
  return Object.keys(source.mapping).some(
    (setting) => mayReadPayload(setting) && !isOfRequest(templateOf.get(setting)),
  );
}

function compileTemplates(mapping: MappingInput, diagnostics: Diagnostics): CompiledMapping["templates"] {
  const templates: CompiledMapping["templates"] = {};
  for (const field of TEMPLATE_FIELDS) {
    const source = mapping[field];
    if (source !== undefined) templates[field] = compileField(field, source, diagnostics);
  }
  return templates;
}

function compilePlace({ source }: MappingInput, diagnostics: Diagnostics): CompiledMapping["place"] {
  if (!source) return undefined;
  const compile = (field: keyof typeof source): Template | undefined =>
    source[field] ? compileField(`source.${field}`, source[field], diagnostics) : undefined;
  const [channel, to] = [compile("channel"), compile("to")];
  const [references, subject, replyTo, commit, audience, url] = (
    ["references", "subject", "replyTo", "commit", "audience", "url"] as const
  ).map(compile);
  return channel && to && { channel, to, references, subject, replyTo, commit, audience, url };
}

function compileCoalesce({ coalesce }: MappingInput, diagnostics: Diagnostics): Coalesce | undefined {
  const key = coalesce && compileField("coalesce.key", coalesce.key, diagnostics);
  return key && { key, windowMs: coalesce.windowMs };
}

function compilePayloadSchema(
  { mapping: { schema }, baseDir }: MappingSource,
  readFile: CompileOptions["readFile"],
  diagnostics: Diagnostics,
): SchemaCheck | undefined {
  if (schema === undefined) return undefined;
  try {
    const parsed = typeof schema === "string" ? parseSchema(readFile(path.resolve(baseDir, schema))) : schema;
    return compilePayloadCheck(parsed, "schema", () => {
      const unknown = findUnknownKeywords(parsed);
      for (const { key, name, nearest } of unknown) {
        const place = typeof schema === "string" ? `${schema}: ${key}: ` : "";
        const at = typeof schema === "string" ? "schema" : `schema.${key}`;
        const message = `${place}${toUnknownKeyword(name)}`;
        if (nearest) diagnostics.problem(at, `${message} Did you mean "${nearest}"?`);
        else diagnostics.warning(at, message);
      }
      return unknown.length > 0;
    });
  } catch (error) {
    const place = typeof schema === "string" ? `The schema file ${schema}` : "The schema";
    diagnostics.problem("schema", `${place} cannot be used: ${messageOf(error)}.`);
    return undefined;
  }
}

/** Throws an error with the position alone: the text may be that of any file. */
function parseSchema(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    const [position] = /\(line \d+ column \d+\)/.exec(messageOf(error)) ?? [];
    throw new Error(["it is not valid JSON", position].filter(Boolean).join(" "), { cause: error });
  }
}

/** The path is written as in a template: it may start at the payload's fields or at `payload`. */
function compileForEach(
  { forEach: text, forEachNarrows }: MappingInput,
  diagnostics: Diagnostics,
): ForEach | undefined {
  if (text === undefined) return undefined;
  const plain = text
    .trim()
    .replace(/^\{\{(.*)\}\}$/s, (_template, inner: string) => inner.trim())
    .replace(/^\$\.|\[\*?\]$|\.\*$/g, "");
  if (plain !== text.trim()) {
    diagnostics.problem("forEach", `This is the path of a list, not a template or an expression: write "${plain}".`);
    return undefined;
  }
  const lists = parsePayloadPath(text.trim());
  if (lists) return { text, lists, narrows: forEachNarrows ?? false };
  diagnostics.problem("forEach", "This is not a valid path. Examples: messages, data.items, data[0].items.");
  return undefined;
}

/** Each run of a `forEach` would get the same item. OpenClaw's mappings are written so: it reads the first item only. */
function reportFixedItem({ source: { mapping }, templates, forEach }: CompiledMapping, diagnostics: Diagnostics): void {
  if (!forEach || forEach.narrows || forEach.lists.length > 1) return;
  const list = forEach.lists
    .flat()
    .map((key) => RegExp.escape(key))
    .join(String.raw`\.`);
  const fixed = new RegExp(String.raw`(?<![\w.])(?:payload\.)?${list}(?:\.|\.?\[)\d+\b\]?`);
  for (const field of TEMPLATE_FIELDS) {
    const [found] = fixed.exec((templates[field] && mapping[field]) ?? "") ?? [];
    if (found === undefined) continue;
    diagnostics.warning(
      field,
      `"${found}" is the same in each run of forEach: write {{item}}, or set forEachNarrows: true.`,
    );
  }
}

/** Without `forEach`, `item` and `index` are the payload's own fields, or a mistake. */
function reportMisplacedItem(
  { source, templates, targets, coalesce }: CompiledMapping,
  diagnostics: Diagnostics,
): void {
  if (source.mapping.forEach !== undefined) return;
  const all = [...Object.entries({ ...templates, "coalesce.key": coalesce?.key }), ...listTargetTemplates(targets)];
  for (const [field, template] of all) {
    const name = ["item", "index"].find((only) => template?.fields.has(only));
    if (name === undefined) continue;
    diagnostics.warning(
      field,
      `"${name}" exists only with forEach: add forEach, or write payload.${name} if the payload has such a field.`,
    );
  }
}

function reportConstantDedupe({ templates: { dedupe } }: CompiledMapping, diagnostics: Diagnostics): void {
  if (!dedupe?.isStatic || dedupe.render({}).trim() === "") return;
  diagnostics.warning(
    "dedupe",
    "The key is the same for every request, so every request after the first would count as a duplicate. " +
      "Use a field that differs, for example {{id}}.",
  );
}
