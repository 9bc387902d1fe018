import type { MappingSource } from "../config/resolved-config.ts";
import type { FoundProblem } from "../errors.ts";
import {
  ANY_CREDENTIAL,
  BUILT_IN_HOOKS,
  type BuiltInHook,
  type HookRequest,
  isScheduleHook,
  isSender,
} from "../types.ts";
import type { CompiledAnswer } from "./answer.ts";
import type { CompiledMapping } from "./compile.ts";
import { createSessionScopes, type ScopeSettings, type SessionScopes } from "./policy/session-keys.ts";

const builtInHooks: ReadonlySet<string> = new Set(BUILT_IN_HOOKS);

export function isBuiltInHook(hook: string): hook is BuiltInHook {
  return builtInHooks.has(hook);
}

/** All mappings, indexed so that a request is compared only with those of its path. */
export interface MappingIndex {
  mappings: readonly CompiledMapping[];
  /** The agents of some work on files. */
  hasWorkspaces: boolean;
  /** Mappings that answer with the reply of a run, by id. */
  answers: ReadonlyMap<string, CompiledAnswer>;
  /** The first mapping that takes the request. */
  find(request: HookRequest): CompiledMapping | undefined;
  /** Whether the hook is the service's own, or there are mappings that could take the request. Costs less than `find`. */
  mayTake(request: HookRequest): boolean;
  /** Whether anything but a transform reads its payload: to find a mapping, or for the mapping that takes it. */
  readsPayload(request: HookRequest): boolean;
  /** Whether the hook is the service's own, or a mapping names it. */
  names(hook: string): boolean;
  /** The largest body that a mapping of the hook takes; `byDefault`: the limit of a mapping without its own. In bytes. */
  maxBodyBytes(hook: string, byDefault: number): number;
  /** Whether the mappings of the hook say `body: "text"`: a rule makes sure that all of them do, or none. */
  takesText(hook: string): boolean;
  /**
   * Why no mapping takes the request, for the operator: each that names its hook, with the first condition that fails.
   * undefined: no mapping that its credential sees names the hook.
   */
  explain(request: HookRequest): string | undefined;
  /** The sessions that requests can lead to. */
  sessions: SessionScopes;
}

/** The first match in the order of `mappings` wins. */
export function createMappingIndex(
  mappings: readonly CompiledMapping[],
  settings: ScopeSettings = { tokens: [], path: "/hooks" },
): MappingIndex {
  const anyPath = mappings.filter(({ match }) => match.path === undefined);
  const paths = new Set(mappings.flatMap(({ match }) => match.path ?? []));
  const takes = ({ match }: CompiledMapping, hook: string): boolean =>
    match.path === hook || (match.path === undefined && !isScheduleHook(hook));
  const byPath = new Map([...paths].map((path) => [path, mappings.filter((mapping) => takes(mapping, path))]));
  const listFor = (hook: string): readonly CompiledMapping[] =>
    isBuiltInHook(hook) ? [] : (byPath.get(hook) ?? (isScheduleHook(hook) ? [] : anyPath));
  return {
    mappings,
    hasWorkspaces: mappings.some(({ workspace }) => workspace),
    answers: new Map(mappings.flatMap(({ source, answer }) => (answer ? [[source.id, answer] as const] : []))),
    find: (request) =>
      listFor(request.hook).find(
        (mapping) => isVisible(mapping, request) && findFailing(mapping, request) === undefined,
      ),
    mayTake: (request) =>
      isBuiltInHook(request.hook) || listFor(request.hook).some((mapping) => isVisible(mapping, request)),
    readsPayload(request) {
      for (const mapping of listFor(request.hook)) {
        if (!isVisible(mapping, request)) continue;
        if (mapping.match.readsPayload) return true;
        if (findFailing(mapping, request) === undefined) return mapping.readsPayload;
      }
      return true;
    },
    names: (hook) => paths.has(hook) || isBuiltInHook(hook),
    maxBodyBytes(hook, byDefault) {
      const candidates = listFor(hook);
      if (candidates.length === 0) return byDefault;
      return Math.max(...candidates.map(({ source }) => source.mapping.maxBodyBytes ?? byDefault));
    },
    takesText: (hook) =>
      (byPath.get(hook) ?? []).some(({ match, source }) => match.path === hook && source.mapping.body === "text"),
    explain(request) {
      const named = (byPath.get(request.hook) ?? []).filter(
        (mapping) => mapping.match.path !== undefined && isVisible(mapping, request),
      );
      if (named.length === 0) return undefined;
      const failing = named
        .slice(0, MAX_EXPLAINED)
        .map((mapping) => `${mapping.source.id} (${findFailing(mapping, request)})`);
      return `No mapping matches: ${failing.join(", ")}.`;
    },
    sessions: createSessionScopes(mappings, settings),
  };
}

const MAX_EXPLAINED = 10;

/**
 * A mapping with its own credential is seen only by that one, in a draft by that of any sender; all other mappings are for
 * the tokens.
 */
function isVisible(mapping: CompiledMapping, { credential }: HookRequest): boolean {
  if (credential === ANY_CREDENTIAL) return true;
  if (!isSender(credential)) return mapping.credential === undefined;
  return mapping.credential === credential || mapping.credential === ANY_CREDENTIAL;
}

/** The key of the first condition that does not hold. */
function findFailing({ match }: CompiledMapping, request: HookRequest): string | undefined {
  for (const [key, holds] of match.conditions) if (!holds(request)) return key;
  return undefined;
}

/** A warning for each mapping that no request can reach, because an earlier one takes everything it would match. */
export function findShadowed(mappings: readonly CompiledMapping[]): FoundProblem[] {
  return mappings.flatMap((mapping, index) => {
    const shadow = findShadow(mapping, mappings.slice(0, index));
    return shadow ? [toShadowWarning(mapping.source, shadow.source)] : [];
  });
}

/** The ids of the mappings that are never reached. */
export function listShadowed(mappings: readonly CompiledMapping[]): string[] {
  const shadowed = mappings.filter((mapping, index) => findShadow(mapping, mappings.slice(0, index)));
  return shadowed.map(({ source }) => source.id);
}

function findShadow(mapping: CompiledMapping, earlier: readonly CompiledMapping[]): CompiledMapping | undefined {
  return earlier.find((other) => isImplied(other, mapping));
}

/** True if `wide` accepts everything that `narrow` accepts: every condition of `wide` is also one of `narrow`. */
function isImplied(
  { match: wide, credential: earlier }: CompiledMapping,
  { match: narrow, credential: later }: CompiledMapping,
): boolean {
  return (
    earlier === later &&
    (wide.path === undefined || wide.path === narrow.path) &&
    (wide.source === undefined || wide.source === narrow.source) &&
    hasAll(narrow.headers, wide.headers) &&
    hasAll(narrow.payload, wide.payload) &&
    (wide.where === undefined || JSON.stringify(wide.where) === JSON.stringify(narrow.where))
  );
}

function hasAll(fields: Record<string, unknown>, wanted: Record<string, unknown>): boolean {
  return Object.entries(wanted).every(([name, value]) => JSON.stringify(fields[name]) === JSON.stringify(value));
}

function toShadowWarning(source: MappingSource, shadow: MappingSource): FoundProblem {
  const { file, key, mapping } = source.preset === undefined ? source : shadow;
  const message =
    `The mapping "${source.id}" can never be reached: "${shadow.id}" comes first ` +
    `and takes every request that it would match. ${toRemedy(source, shadow)}`;
  const other = shadow.preset === undefined ? { key: shadow.key, text: `"${shadow.id}"` } : undefined;
  return { file, key: mapping.match ? `${key}.match` : key, message, ...(other && { other }) };
}

/** A preset's mapping always comes after the configuration's own. */
function toRemedy({ preset }: MappingSource, shadow: MappingSource): string {
  if (preset === undefined) return "Move it up, or narrow the other's match.";
  const narrowed = shadow.preset === undefined ? `, or give "${shadow.id}" a narrower match` : "";
  return `Remove "${preset}" from hooks.presets${narrowed}.`;
}
