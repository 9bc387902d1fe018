import type { FromSchema } from "json-schema-to-ts";
import { didYouMean } from "../core/shared/text/text.ts";
import { ConfigError, type ConfigProblem, HookError } from "../core/errors.ts";
import { type Sample, toSampleRequest } from "../core/ingress/hook-request.ts";
import type { MappingIndex } from "../core/mapping/mapping-index.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import {
  type AgentAction,
  type ReplyTarget,
  BUILT_IN_HOOKS,
  type HookAction,
  type HookRequest,
  type LogLine,
  type Resolution,
} from "../core/types.ts";
import { TEMPLATE_FIELDS } from "../core/config/settings.ts";
import { createRequireBody, type RequireBody } from "./body.ts";
import { explainDottedNames } from "./dotted-names.ts";

/** The result of a request that was only tried, with what its sender would not see. */
export type Trial = { log: LogLine[]; durationMs: number } & (
  | ({ ok: true } & Pick<Resolution, "mapping" | "event" | "subject" | "reason" | "warnings"> & {
        actions: ActionView[];
        /** The idempotency keys: one for the event, or with `forEach` one for each action, empty without one. */
        keys?: string[];
      })
  | {
      ok: false;
      mapping?: string;
      status: number;
      code: string;
      error: string;
      detail?: string;
      problems?: DraftProblem[];
    }
);

/** `place`: the part of the draft that it is in: the field of a template, a module of the transform, or `mapping`. */
interface DraftProblem extends ConfigProblem {
  place: string;
}

export interface AgentActionView extends Omit<AgentAction, "trustedName" | "routeBy" | "moreTargets" | "serviceHost"> {
  moreTargets?: Omit<ReplyTarget, "routeBy">[];
}
/** An action without what only its run reads. */
export type ActionView = Exclude<HookAction, AgentAction> | AgentActionView;

export function toActionView(action: AgentAction): AgentActionView;
export function toActionView(action: HookAction): ActionView;
export function toActionView(action: HookAction): ActionView {
  if (action.kind !== "agent") return action;
  const { trustedName: _, routeBy: __, serviceHost: ___, moreTargets, ...shown } = action;
  return { ...shown, moreTargets: moreTargets?.map(({ routeBy: ____, ...target }) => target) };
}

/**
 * Runs one payload through mapping and transform; nothing is recorded or dispatched. `body` is `{ hook, payload, headers?,
 * query?, mapping?, files? }`, the last two being a `Draft`; throws a 400 `HookError` when it is not.
 */
export async function runTrial(
  body: unknown,
  { config, mappings }: Pick<Runtime, "config" | "mappings">,
  { resolve, buildDraft, sent }: TrialSteps,
): Promise<Trial> {
  requireTrial(body);
  const request = toSampleRequest({ ...body, ...sent }, config.hooks.path);
  const { mapping: draft, files = {} } = body;
  const modules = Object.keys(files);
  let used = mappings;
  const startedAt = performance.now();
  const explainNames = (index: MappingIndex, id: string | undefined): string[] => {
    const found = index.mappings.find(({ source }) => source.mapping.id === id);
    return found ? explainDottedNames(found.source.mapping, body.payload) : [];
  };
  const elapsed = (): number => Math.round((performance.now() - startedAt) * 100) / 100;
  try {
    if (draft && buildDraft) used = await buildDraft({ mapping: draft, files: body.files });
    const { mapping, event, subject, actions, reason, log, warnings, idempotency } = await resolve(request, used);
    const shown = actions.map(toActionView);
    const told = { mapping, event, subject, actions: shown, keys: idempotency?.keys, reason, log };
    const allWarnings = [...warnings, ...explainNames(used, mapping)];
    return { ok: true, ...told, warnings: allWarnings, durationMs: elapsed() };
  } catch (error) {
    if (error instanceof ConfigError) {
      const { status, code, message } = new HookError("invalid_mapping");
      const problems = error.problems.map((problem) => ({ ...problem, place: placeOf(problem, modules) }));
      const id = typeof draft === "object" ? draft.id : undefined;
      return { ok: false, mapping: id, status, code, error: message, problems, log: [], durationMs: elapsed() };
    }
    if (!(error instanceof HookError)) throw error;
    const { status, code, message } = error;
    const { log = [], mapping, trace, message: cause } = error.detail;
    const unknown = (): string =>
      draft ? explainMiss(request.hook, used) : explainUnknownHook(request.hook, mappings);
    const detail = status === 404 ? unknown() : trace || cause || explainNames(mappings, mapping)[0];
    const problems = findInModules(detail ?? "", modules);
    const told = { mapping, status, code, error: message, detail, ...(problems.length > 0 && { problems }) };
    return { ok: false, ...told, log, durationMs: elapsed() };
  }
}

function placeOf({ key = "", file = "" }: ConfigProblem, modules: readonly string[]): string {
  const field = key.replace(/^mapping\./, "").split(/[.[]/, 1)[0];
  return modules.find((name) => file.endsWith(name)) ?? TEMPLATE_FIELDS.find((name) => name === field) ?? "mapping";
}

/** The first line of each module in a stack. */
function findInModules(stack: string, modules: readonly string[]): DraftProblem[] {
  return modules.flatMap((place) => {
    const found = new RegExp(`(?:^|[\\s/(])${RegExp.escape(place)}:(\\d+):(\\d+)`, "m").exec(stack);
    const message = stack.split("\n", 1)[0] ?? "";
    return found ? [{ message, line: Number(found[1]), column: Number(found[2]), place }] : [];
  });
}

export interface TrialSteps {
  resolve(request: HookRequest, mappings: MappingIndex): Promise<Resolution>;
  /** Absent: only the loaded mappings are tried. Throws a `ConfigError`. */
  buildDraft?(draft: Draft): Promise<MappingIndex>;
  /** How the request was sent. */
  sent?: Pick<Sample, "rawBody" | "receivedAt">;
}

/** A mapping as it is being written: it is in no file yet. */
export interface Draft {
  /**
   * Fields over those of the loaded mapping with this id; null removes one. Without such a mapping, a new one. A text is the whole
   * mapping as JSON5.
   */
  mapping: { id: string; [field: string]: unknown } | string;
  /** Texts of its module and of what that imports, by their names below the folder of the transforms. Default: the files'. */
  files?: Record<string, string>;
}

const STRINGS = { type: "object", additionalProperties: { type: "string" } } as const;

/** JSON Schema of the body. */
export const TRIAL_SCHEMA = {
  type: "object",
  required: ["hook", "payload"],
  properties: {
    hook: { type: "string", pattern: "[^/]" },
    payload: {},
    headers: STRINGS,
    query: STRINGS,
    mapping: {
      anyOf: [{ type: "object", required: ["id"], properties: { id: { type: "string" } } }, { type: "string" }],
      description:
        "A mapping that is being written: its id, and the fields that differ from the loaded one; or the whole of it as a text in JSON5, without auth and transform.",
    },
    files: {
      ...STRINGS,
      description: "Code of its transform that is in no file yet, by names below the folder of the transforms.",
    },
  },
  dependencies: { files: ["mapping"] },
} as const;

type TrialInput = FromSchema<typeof TRIAL_SCHEMA>;

const requireTrial: RequireBody<TrialInput> = createRequireBody(TRIAL_SCHEMA, "trial");

function explainMiss(hook: string, { mappings: [draft] }: MappingIndex): string {
  return `The mapping is for the hook "${draft?.match.path ?? ""}", and the request is to "${hook}": set match.path, or choose another request.`;
}

/** Only for the operator, since it names the hooks that exist. */
function explainUnknownHook(hook: string, { mappings }: MappingIndex): string {
  const known = new Set([...BUILT_IN_HOOKS, ...mappings.flatMap(({ match }) => match.path ?? [])]);
  return `There is no hook "${hook}"${didYouMean(hook, [...known])}`;
}
