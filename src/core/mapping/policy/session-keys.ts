import { hash } from "node:crypto";
import type { HookToken, ResolvedConfig } from "../../config/resolved-config.ts";
import { literalStart } from "../../shared/template-values.ts";
import { cutText } from "../../shared/text/text.ts";
import { BUILT_IN_HOOKS } from "../../types.ts";
import type { CompiledMapping } from "../compile.ts";

/** The sessions that the requests of a limited credential can lead to: those whose keys begin with a prefix of its own. */
export interface SessionScope {
  /** "": any session. */
  prefix: string;
  /** Stands in front of a key that belongs to others although it begins with `prefix`. */
  fallback: string;
  /** The longer prefixes, and the whole keys, of mappings and tokens that the credential cannot reach. */
  others: { prefixes: readonly string[]; keys: readonly string[] };
}

export interface SessionScopes {
  /** For all who post to the mapping. undefined: no limited credential reaches it, and it has no `sessionPrefix`. */
  ofMapping(mapping: CompiledMapping): SessionScope | undefined;
  /** For a request to `agent`. undefined: its token may name any session. */
  ofToken(credential: string): SessionScope | undefined;
}

/** Settings that the scopes depend on. */
export type ScopeSettings = Pick<ResolvedConfig["hooks"], "tokens" | "path">;

/** In characters. */
export const MAX_SESSION_KEY_LENGTH = 256;

/** A session of its own, which only who was told its key can name: `createId` makes it of a time and 74 random bits. */
const TOLD = /^hook:[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

/** The key as it is, or with the prefix in front. The tests of sessions switch each rule off. */
export const SESSION_RULES = {
  isTold: (key: string): boolean => TOLD.test(key),
  isOfScope: (key: string, { prefix }: SessionScope): boolean => key.startsWith(prefix),
  isOfOthers: (key: string, { prefix, others }: SessionScope): boolean =>
    prefix !== "" && (others.keys.includes(key) || others.prefixes.some((other) => key.startsWith(other))),
};

/** The key of the session that a request leads to, if it names `key`. */
export function toScopedKey(key: string, scope: SessionScope | undefined): string {
  if (!scope || SESSION_RULES.isTold(key)) return key;
  const own = SESSION_RULES.isOfScope(key, scope) ? key : scope.prefix + key;
  if (!SESSION_RULES.isOfOthers(own, scope)) return toShortKey(own);
  const moved = scope.fallback + own;
  // A path can be the start of another.
  return SESSION_RULES.isOfOthers(moved, scope) ? scope.fallback + hash("sha256", own) : toShortKey(moved);
}

/** A key that became too long ends with a hash of the whole. */
function toShortKey(key: string): string {
  if (key.length <= MAX_SESSION_KEY_LENGTH) return key;
  const digest = hash("sha256", key);
  return `${cutText(key, MAX_SESSION_KEY_LENGTH - digest.length - 1)}~${digest}`;
}

/** A mapping or a token, with the sessions that are its own. */
interface Owner {
  /** The start of the keys that it leads to. */
  prefix: string;
  /** In front of keys of others. undefined: no limited credential reaches it, and it has no `sessionPrefix`. */
  fallback?: string;
  /** The only session that it leads to. */
  key?: string;
  /** The limited credentials that reach it. */
  reachedBy: readonly string[];
}

export function createSessionScopes(
  mappings: readonly CompiledMapping[],
  { tokens, path }: ScopeSettings,
): SessionScopes {
  const limited = tokens.filter(({ hooks }) => hooks !== undefined);
  const reached = mappings.map((mapping) => ({ mapping, reachedBy: listCredentials(mapping, limited) }));
  const byBase = Map.groupBy(reached, ({ mapping }) => toBase(mapping));
  const ofMappings = new Map<CompiledMapping, Owner>();
  for (const [base, ofBase] of byBase) {
    const limitedOnes = ofBase.filter(({ reachedBy }) => reachedBy.length > 0);
    const isShared = limitedOnes.every((one) => limitedOnes.every((other) => isReachable(one, other)));
    for (const { mapping, reachedBy } of ofBase) {
      const own = isShared ? base : `${base}${mapping.source.id}:`;
      ofMappings.set(mapping, toOwner(mapping, { own, reachedBy, path }));
    }
  }
  const ofTokens = new Map(
    limited.flatMap(({ name, hooks, sessionPrefix }) => {
      const fallback = `token:${name}:`;
      const credential = credentialOf(name);
      const owner: Owner = { prefix: sessionPrefix ?? fallback, fallback, reachedBy: [credential] };
      return hooks?.includes("agent") ? [[credential, owner] as const] : [];
    }),
  );
  const owners = [...ofMappings.values(), ...ofTokens.values()];
  const scopes = new Map<Owner, SessionScope | undefined>();
  const scopeOf = (owner: Owner | undefined): SessionScope | undefined => {
    if (owner && !scopes.has(owner)) scopes.set(owner, toScope(owner, owners));
    return owner && scopes.get(owner);
  };
  return {
    ofMapping: (mapping) => scopeOf(ofMappings.get(mapping)),
    ofToken: (credential) => scopeOf(ofTokens.get(credential)),
  };
}

function toOwner(
  { source: { mapping }, templates: { sessionKey }, match }: CompiledMapping,
  { own, reachedBy, path }: { own: string; reachedBy: readonly string[]; path: string },
): Owner {
  const key = sessionKey?.isStatic ? sessionKey.render({}).trim() : undefined;
  const start = toConstantStart(mapping.sessionKey, match.path === undefined ? undefined : `${path}/${match.path}`);
  const { sessionPrefix } = mapping;
  if (reachedBy.length === 0 && sessionPrefix === undefined) return { prefix: start ?? "", key, reachedBy };
  return { prefix: sessionPrefix ?? start ?? own, fallback: own, key, reachedBy };
}

function toBase({ source: { id }, match }: CompiledMapping): string {
  return `hook:${match.path ?? id}:`;
}

/** The text that each key of the template begins with, if nothing else can begin so by chance. `path`: the only one that it has. */
function toConstantStart(template: string | undefined, path: string | undefined): string | undefined {
  const start = literalStart(template ?? "", path);
  return start.length >= 2 && /[^\p{L}\p{N}]$/u.test(start) ? start : undefined;
}

function toScope(owner: Owner, owners: readonly Owner[]): SessionScope | undefined {
  const { prefix, fallback } = owner;
  if (fallback === undefined) return undefined;
  const foreign = owners.filter((other) => !isReachable(other, owner));
  const prefixes = foreign.flatMap((other) => [other.prefix, other.fallback ?? ""]);
  return {
    prefix,
    fallback,
    others: {
      prefixes: [...new Set(prefixes.filter((one) => one.length > prefix.length && one.startsWith(prefix)))],
      keys: foreign.flatMap(({ key }) => key ?? []),
    },
  };
}

/** Whether all limited credentials that reach `from` reach `other` too. */
function isReachable(other: Pick<Owner, "reachedBy">, from: Pick<Owner, "reachedBy">): boolean {
  return from.reachedBy.every((credential) => other.reachedBy.includes(credential));
}

function listCredentials({ source, credential, match }: CompiledMapping, limited: readonly HookToken[]): string[] {
  const { auth, schedule } = source.mapping;
  const { path } = match;
  if (schedule) return [];
  if (auth || credential !== undefined) return [credential ?? `auth:${path} ${JSON.stringify(auth)}`];
  return limited
    .filter(({ hooks = [] }) => hooks.some((hook) => (path === undefined ? !isBuiltIn(hook) : hook === path)))
    .map(({ name }) => credentialOf(name));
}

function isBuiltIn(hook: string): boolean {
  return BUILT_IN_HOOKS.some((name) => name === hook);
}

function credentialOf(token: string): string {
  return `token:${token}`;
}
