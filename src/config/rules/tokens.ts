import { BUILT_IN_HOOKS } from "../../types.ts";
import { didYouMean } from "../schema/problems.ts";
import { error, type Finding, warning } from "./finding.ts";
import { DEFAULT_TOKEN, type HookToken, type MappingSource, type ResolvedConfig } from "../types.ts";

/** A shorter one could be guessed. */
const MIN_LENGTH = 24;

/** Hook tokens exist while hooks are on, are long, differ from each other and the gateway's, and name known hooks. */
export function checkTokens({ gateway, hooks }: ResolvedConfig): Finding[] {
  const secrets = hooks.tokens.flatMap(listSecrets);
  const isMissing = hooks.tokens[0]?.secrets.every((secret) => secret === "");
  return [
    ...(isMissing && hooks.enabled
      ? [error("hooks.token", "is required while hooks.enabled is true: set a long random secret")]
      : []),
    ...secrets.flatMap((secret) => checkSecret(secret, secrets, gateway.token)),
    ...hooks.tokens.slice(1).flatMap((token) => [...checkName(token), ...checkHooks(token, hooks.mappings)]),
  ];
}

function checkName({ name }: HookToken): Finding[] {
  const key = `hooks.tokens.${name}`;
  if (name === DEFAULT_TOKEN) return [error(key, "has the name of hooks.token: choose another")];
  return /^[A-Za-z0-9_-]+$/.test(name) ? [] : [error(key, "must have a name of letters, digits, - and _")];
}

interface Secret {
  key: string;
  text: string;
}

function listSecrets({ name, secrets }: HookToken): Secret[] {
  const key = name === DEFAULT_TOKEN ? "hooks.token" : `hooks.tokens.${name}.secret`;
  const texts = secrets.length > 0 ? secrets : [""];
  return texts.map((text, index) => ({ key: secrets.length > 1 ? `${key}[${index}]` : key, text }));
}

function checkSecret({ key, text }: Secret, secrets: Secret[], gatewayToken: string | undefined): Finding[] {
  // Whether a blank `hooks.token` is missing depends on `hooks.enabled`.
  if (text === "") return key === "hooks.token" ? [] : [error(key, "is blank: set a long random secret")];
  if (text === gatewayToken) {
    return [error(key, "must not be the same as gateway.auth.token: senders of hooks would be operators")];
  }
  const first = secrets.find((other) => other.text === text)?.key;
  if (first !== key) return [error(key, `is the same as ${first}: give each token its own secret`)];
  return text.length < MIN_LENGTH
    ? [warning(key, `is shorter than ${MIN_LENGTH} characters and could be guessed`)]
    : [];
}

function checkHooks({ name, hooks = [] }: HookToken, mappings: MappingSource[]): Finding[] {
  const paths = mappings.flatMap(({ mapping }) => mapping.match?.path ?? []);
  // A mapping without a path takes requests to any hook.
  if (paths.length < mappings.length) return [];
  const known = [...BUILT_IN_HOOKS, ...paths.map((path) => path.replace(/^\/+|\/+$/g, ""))];
  return hooks
    .filter((hook) => !known.includes(hook))
    .map((hook) => warning(`hooks.tokens.${name}.hooks`, `there is no hook "${hook}"${didYouMean(hook, known)}`));
}
