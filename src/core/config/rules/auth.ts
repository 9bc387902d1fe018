import { listFound } from "../../shared/found.ts";
import { toObject, toText } from "../../shared/json.ts";
import { BUILT_IN_HOOKS } from "../../types.ts";
import type { Drivers } from "../plugins.ts";
import { didYouMean, trimSlashes } from "../../shared/text/text.ts";
import { DEFAULT_TOKEN, type HookToken, type MappingSource, type ResolvedConfig } from "../resolved-config.ts";
import { error, type Finding, warning } from "./finding.ts";

/** An `auth` has a path, secrets that are not used elsewhere, and the address if the sender signs it. */
export function checkAuth(source: MappingSource, config: ResolvedConfig, providers: Drivers["providers"]): Finding[] {
  const { auth, match } = source.mapping;
  if (!auth) return [];
  const key = `${source.key}.auth`;
  const scheme = providers[auth.scheme];
  return listFound(
    match?.path === undefined &&
      error(key, "A mapping with auth needs match.path, because auth is about the requests to one path."),
    checkSecrets(`${key}.secret`, auth["secret"], config),
    checkRepeats(source, scheme),
    scheme?.signsUrl?.(auth) && checkUrl(`${key}.url`, source, config.gateway.hooksUrl),
  );
}

/** Only `dedupe` keeps a request of a plain scheme from running again when somebody sends it again. */
function checkRepeats(
  { key, mapping: { auth, dedupe } }: MappingSource,
  scheme: Drivers["providers"][string] | undefined,
): Finding[] {
  if (!auth || !scheme || dedupe !== undefined || (scheme.replay?.(auth) ?? "plain") !== "plain") return [];
  const { deliveryId, schema } = scheme;
  const isSigned = Object.hasOwn(toObject(schema["properties"]), "replay");
  const id = deliveryId === undefined ? "the event's id" : `"${deliveryId}"`;
  const remedy = `set dedupe to ${id}${isSigned ? ', or if no two events have the same body, set replay: "signature"' : ""}`;
  const message = `The scheme ${auth.scheme} is plain: a request that is sent again runs again. To prevent that, ${remedy}.`;
  return [warning(`${key}.auth`, message)];
}

function checkSecrets(key: string, secret: unknown, { gateway, hooks }: ResolvedConfig): Finding[] {
  const tokens = hooks.tokens.flatMap(({ secrets }) => secrets);
  const message =
    "This secret is also a hook token: with the token, anyone can sign as this sender. Use different secrets.";
  return [secret ?? []].flat().flatMap((written, index) => {
    const at = Array.isArray(secret) ? `${key}[${index}]` : key;
    const text = toText(written).trim();
    const repeat = tokens.includes(text) ? warning(at, message) : undefined;
    return checkSecret({ key: at, text }, gateway.token, { minLength: MIN_SECRET_LENGTH, repeat });
  });
}

interface Secret {
  key: string;
  text: string;
}

/** Shorter ones could be guessed. Some senders choose secrets of 20 characters. */
const MIN_SECRET_LENGTH = 16;
const MIN_TOKEN_LENGTH = 24;

/** A secret is not the gateway's, and not too short. `repeat`: it is also another secret. */
function checkSecret(
  { key, text }: Secret,
  gatewayToken: string | undefined,
  { minLength, repeat }: { minLength: number; repeat: Finding | undefined },
): Finding[] {
  if (text === gatewayToken) {
    const message = "This secret must not be the same as gateway.auth.token: senders would be operators. Use another.";
    return [error(key, message, "gateway.auth.token")];
  }
  if (repeat) return [repeat];
  if (text.length >= minLength) return [];
  return [warning(key, `This secret is shorter than ${minLength} characters and could be guessed. Use a longer one.`)];
}

function checkUrl(key: string, { mapping: { auth }, preset }: MappingSource, publicUrl: string | undefined): Finding[] {
  const url = auth?.["url"] ?? publicUrl;
  if (url === undefined && preset !== undefined) {
    const message = `The preset ${preset} requires gateway.publicUrl, because its sender signs the address that it posts to.`;
    return [error("gateway.publicUrl", message)];
  }
  if (url === undefined) {
    return [error(key, `Set this or gateway.publicUrl, because ${auth?.scheme} signs the address that it posts to.`)];
  }
  return typeof url === "string" && /^https?:/.test(url) && URL.canParse(url)
    ? []
    : [error(key, "The address must begin with http:// or https://.")];
}

/** Hook tokens exist while hooks are on, are long, differ from each other and the gateway's, and name known hooks. */
export function checkTokens({ gateway, hooks }: ResolvedConfig): Finding[] {
  const secrets = hooks.tokens.flatMap(listSecrets);
  const isMissing = hooks.tokens[0]?.secrets.every((secret) => secret === "");
  return listFound(
    isMissing &&
      hooks.enabled &&
      error("hooks.token", "A hook token is required while hooks.enabled is true. Set a long random secret."),
    secrets.flatMap((secret) => checkToken(secret, secrets, gateway.token)),
    hooks.tokens
      .slice(1)
      .flatMap((token) => [...checkName(token), ...checkHooks(token, hooks.mappings), ...checkPrefix(token)]),
  );
}

function checkPrefix({ name, hooks, sessionPrefix }: HookToken): Finding[] {
  if (sessionPrefix === undefined || hooks?.includes("agent")) return [];
  const reason = hooks ? "its hooks do not include agent" : "a token without hooks may name any session";
  return [warning(`hooks.tokens.${name}.sessionPrefix`, `This has no effect, because ${reason}.`)];
}

function checkName({ name }: HookToken): Finding[] {
  const key = `hooks.tokens.${name}`;
  if (name === DEFAULT_TOKEN) return [error(key, "This is the name of hooks.token. Choose another.")];
  if (/^[A-Za-z0-9_-]+$/.test(name)) return [];
  return [error(key, "The name of a token must consist of letters, digits, - and _.")];
}

function listSecrets({ name, secrets }: HookToken): Secret[] {
  const key = name === DEFAULT_TOKEN ? "hooks.token" : `hooks.tokens.${name}.secret`;
  const texts = secrets.length > 0 ? secrets : [""];
  return texts.map((text, index) => ({ key: secrets.length > 1 ? `${key}[${index}]` : key, text }));
}

function checkToken({ key, text }: Secret, secrets: Secret[], gatewayToken: string | undefined): Finding[] {
  // Whether a blank `hooks.token` is missing depends on `hooks.enabled`.
  if (text === "") return key === "hooks.token" ? [] : [error(key, "The token is blank. Set a long random secret.")];
  const first = secrets.find((other) => other.text === text)?.key;
  const repeat =
    first === key
      ? undefined
      : error(key, `This secret is the same as ${first}. Give each token a different one.`, first);
  return checkSecret({ key, text }, gatewayToken, { minLength: MIN_TOKEN_LENGTH, repeat });
}

function checkHooks({ name, hooks = [] }: HookToken, mappings: MappingSource[]): Finding[] {
  const paths = mappings.flatMap(({ mapping }) => mapping.match?.path ?? []);
  // A mapping without a path takes requests to any hook.
  if (paths.length < mappings.length) return [];
  const known = [...BUILT_IN_HOOKS, ...paths.map((path) => trimSlashes(path))];
  return hooks
    .filter((hook) => !known.includes(hook))
    .map((hook) => warning(`hooks.tokens.${name}.hooks`, `There is no hook "${hook}"${didYouMean(hook, known)}`));
}
