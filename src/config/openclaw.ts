import { ConfigError } from "../errors.ts";
import { isObject, type Segment, toKeyPath, toObject, toObjects, toText, withoutUndefined } from "../shared/json.ts";
import { isReference, planSecret } from "./edit/plan.ts";
import { trimSlashes } from "./resolve.ts";

type Fields = Record<string, unknown>;

/** A configuration made from OpenClaw's. */
interface Imported {
  /** By block: `hooks`, `agents`, `channels`. */
  config: Record<string, Fields>;
  /** Places that somebody has to decide about, by key of `config`. */
  decisions: [key: string, sentence: string][];
  /** Differences from OpenClaw, in sentences. */
  changes: string[];
  /** Literal secrets of the original, by the absolute path of their new files. */
  secretFiles: Map<string, string>;
}

/** The name of the provider that asks OpenClaw's own agents. */
const PROVIDER = "openclaw";

/** Which option of a channel comes from which of OpenClaw's. The first is required. */
const CHANNELS: Record<string, Record<string, string>> = {
  slack: { token: "botToken" },
  discord: { token: "token" },
  telegram: { token: "botToken" },
  mattermost: { token: "botToken", baseUrl: "baseUrl" },
  signal: { account: "account", baseUrl: "httpUrl" },
  msteams: { appPassword: "appPassword", appId: "appId", tenantId: "tenantId" },
};

/** Settings of a hook and of `hooks` that mean the same here. */
const SAME_IN_MAPPING = ["action", "wakeMode", "deliver", "allowUnsafeExternalContent", "timeoutSeconds", "transform"];
const SAME_IN_HOOKS = ["path", "maxBodyBytes", "defaultSessionKey", "allowedSessionKeyPrefixes"];
const TEMPLATES = ["name", "sessionKey", "messageTemplate", "textTemplate", "to", "thinking"];
const OTHERS_IN_MAPPING = ["id", "match", "channel", "model", "agentId", "sessionMode", "forEach"];

const LEFT_OUT: Record<string, string> = {
  allowedAgentIds: "A request cannot choose an agent here, so hooks.allowedAgentIds is not needed.",
  sessionRetention: "Events and sessions are kept as store.retention says, not hooks.sessionRetention.",
  internal: "hooks.internal is not about webhooks and stays with OpenClaw.",
};

/**
 * Converts the webhooks of an OpenClaw configuration. Its own agents answer as before, through its chat completions. Throws a
 * `ConfigError` if there are none. Facts: https://docs.openclaw.ai/gateway/config-hooks and openclaw/openclaw,
 * src/gateway/hooks-mapping.ts.
 */
export function convertOpenClaw(written: unknown, target: { file: string; stateDir: string }): Imported {
  const root = toObject(written);
  const hooks = toObject(root["hooks"]);
  if ("$include" in root || "$include" in hooks) {
    throw new ConfigError([{ message: "$include is not followed: put what it includes into the file first" }]);
  }
  if (Object.keys(hooks).length === 0) throw new ConfigError([{ message: "this configuration has no hooks" }]);

  const secretFiles = new Map<string, string>();
  const decisions: Imported["decisions"] = [];
  const changes = new Set([
    "Senders post to Hookline's address: port 18790 instead of OpenClaw's.",
    "An accepted agent hook is answered 202 instead of 200, once it is stored.",
  ]);
  const decide = (at: Segment[], sentence: string): void => void decisions.push([toKeyPath(at), sentence]);

  function toSecret(value: unknown, name: string): string | undefined {
    if (isObject(value) && value["source"] === "env") return `\${${String(value["id"])}}`;
    if (isReference(value)) return value;
    if (typeof value !== "string" || value.trim() === "") return undefined;
    return planSecret(target, { name, secret: value }, secretFiles);
  }

  const channels = convertChannels();
  const mappings = toObjects(hooks["mappings"]).map((mapping, index) => convertMapping(mapping, index));
  const gmail = convertGmail();
  const hooksBlock = withoutUndefined({
    enabled: hooks["enabled"] === true,
    ...pick(hooks, SAME_IN_HOOKS),
    token: toSecret(hooks["token"], "hook-token"),
    compat: "openclaw",
    allowRequestSessionKey: convertSessionPolicy(),
    ...gmail,
    mappings,
  });
  const config = { hooks: hooksBlock, agents: convertAgent(), channels };
  for (const [key, sentence] of Object.entries(LEFT_OUT)) if (key in hooks) changes.add(sentence);
  return { config, decisions, changes: [...changes], secretFiles };

  function convertMapping(mapping: Fields, index: number): Fields {
    const at = ["hooks", "mappings", index];
    const { path: matchPath, source } = toObject(mapping["match"]);
    const hook = typeof matchPath === "string" ? trimSlashes(matchPath.trim()) || undefined : undefined;
    const { forEach, agentId, model, sessionKey, sessionMode } = mapping;
    const templates: Fields = {};
    let list: string | undefined;
    for (const [key, text] of Object.entries(pick(mapping, TEMPLATES))) {
      const { template, path: kind, takesFirst } = convertTemplate(String(text), hook);
      templates[key] = template;
      if (kind !== undefined) {
        changes.add("{{path}} is the whole path here. Where the hook's name is known, templates contain it instead.");
      }
      if (kind === "whole") {
        decide([...at, key], "{{path}} was the hook's name; it is the whole path here, as /hooks/name.");
      }
      if (takesFirst === undefined || list !== undefined || forEach !== undefined) continue;
      list = takesFirst;
      const each = `forEach: "${list}" with forEachNarrows: true handles each of them, as ${list}[0].`;
      decide([...at, key], `Only the first of ${list} is handled. ${each}`);
    }
    if (forEach !== undefined) {
      changes.add(
        "forEach: more than hooks.maxFanOut (1000) items are answered 413; OpenClaw drops those after the 200th.",
      );
    }
    if (sessionKey !== undefined && sessionMode !== "persistent") {
      changes.add("Turns of one session share their history, as with OpenClaw's sessionMode: persistent.");
      decide(
        [...at, "sessionKey"],
        "Each run was a fresh session (sessionMode: isolated). Remove the key to keep it so; with it, runs share history.",
      );
    }
    if (model !== undefined) {
      const sentence = `The model was ${JSON.stringify(model)}. OpenClaw's agent chooses its own; to use this one, add its provider to agents.providers.`;
      decide(agentId === undefined ? at : [...at, "model"], sentence);
    }
    const unknown = Object.keys(mapping).filter(
      (key) => ![...SAME_IN_MAPPING, ...TEMPLATES, ...OTHERS_IN_MAPPING].includes(key),
    );
    if (unknown.length > 0) decide(at, `Left out, since it is not known here: ${unknown.join(", ")}.`);
    return withoutUndefined({
      id: mapping["id"],
      match: hook === undefined && source === undefined ? undefined : withoutUndefined({ path: hook, source }),
      ...(forEach !== undefined && { forEach, forEachNarrows: true }),
      ...pick(mapping, SAME_IN_MAPPING),
      ...templates,
      ...(agentId !== undefined && { model: `${PROVIDER}/openclaw:${toText(agentId)}` }),
      ...convertRecipient({ ...mapping, ...templates }, at),
    });
  }

  function convertRecipient({ channel, to, deliver }: Fields, at: Segment[]): Fields {
    if (channel === undefined || channel === "last" || deliver === false) return { channel };
    const name = toText(channel);
    if (name in channels || name.includes("{{")) {
      // `channel:C0123` is OpenClaw's way to write what the channel itself calls C0123.
      return { channel, to: typeof to === "string" ? to.replace(/^channel:/, "") : to };
    }
    const place = to === undefined ? name : `${name}, ${JSON.stringify(to)}`;
    decide([...at, "deliver"], `The reply went to ${place}: add a channels.${name} block, or choose another channel.`);
    return { deliver: false, to: undefined };
  }

  function convertChannels(): Fields {
    const blocks = Object.entries(toObject(root["channels"])).map(([name, block]) => {
      const options = CHANNELS[name] ?? {};
      const values = Object.entries(options).map(([option, key]) => {
        const value = isObject(block) ? block[key] : undefined;
        return [option, /token|password/i.test(option) ? toSecret(value, `${name}-${option}`) : value] as const;
      });
      const isUsable = isObject(block) && block["enabled"] !== false && values[0]?.[1] !== undefined;
      return [name, isUsable ? withoutUndefined(Object.fromEntries(values)) : undefined] as const;
    });
    return withoutUndefined(Object.fromEntries(blocks));
  }

  /** The preset that takes mails, under OpenClaw's name for it too, and the settings of the mailbox. */
  function convertGmail(): Fields {
    const known = [hooks["presets"]].flat().includes("gmail");
    const { account, maxBytes, thinking, model, allowUnsafeExternalContent } = toObject(hooks["gmail"]);
    if (!known && account === undefined) return {};
    const isMapped = mappings.some((mapping) => toObject(mapping["match"])["path"] === "gmail");
    const address = typeof account === "string" ? account : "<address>";
    const setup = `\`webhooks mail setup --address ${address}\` watches the mailbox without gog, Pub/Sub and Tailscale.`;
    if (known && !isMapped)
      decide(["hooks", "presets", 1], `OpenClaw's watcher posts here. ${setup} Then remove this entry.`);
    else decide(["hooks", "presets"], setup);
    if (model !== undefined)
      decide(
        ["hooks", "presets"],
        `The model for mails was ${JSON.stringify(model)}; OpenClaw's agent chooses its own.`,
      );
    if (allowUnsafeExternalContent === true)
      decide(["hooks", "presets"], "Mails are always wrapped in the safety boundary here.");
    changes.add(
      "The preset gmail is mail here: one turn a mail, with the whole text, and a session key from the mail's id.",
    );
    const mail = withoutUndefined({ maxBytes, thinking });
    return {
      presets: ["mail", ...(known && !isMapped ? [{ use: "mail", with: { path: "gmail", name: "Gmail" } }] : [])],
      ...(Object.keys(mail).length > 0 && { mail }),
    };
  }

  function convertSessionPolicy(): boolean {
    const { allowRequestSessionKey } = hooks;
    const isTemplated = mappings.some((mapping) => String(mapping["sessionKey"]).includes("{{")) || "presets" in gmail;
    if (isTemplated && allowRequestSessionKey !== true) {
      const sentence = "Session keys of templates need true. With false, such requests are answered 400.";
      decide(["hooks", "allowRequestSessionKey"], sentence);
    }
    return typeof allowRequestSessionKey === "boolean" ? allowRequestSessionKey : isTemplated;
  }

  function convertAgent(): Fields {
    const gateway = toObject(root["gateway"]);
    const { mode, token, password } = toObject(gateway["auth"]);
    const given = toSecret(mode === "password" ? password : token, "openclaw-token");
    const apiKey = mode === "none" ? undefined : (given ?? "${OPENCLAW_GATEWAY_TOKEN}");
    const { port = 18789 } = gateway;
    decide(
      ["agents", "providers", PROVIDER],
      "OpenClaw's own agents answer; set gateway.http.endpoints.chatCompletions.enabled: true there. Or set another provider in agents.providers.",
    );
    const provider = withoutUndefined({ kind: "gateway", baseUrl: `http://127.0.0.1:${String(port)}/v1`, apiKey });
    return { providers: { [PROVIDER]: provider }, defaults: { model: `${PROVIDER}/openclaw` } };
  }
}

function pick(fields: Fields, keys: string[]): Fields {
  return withoutUndefined(Object.fromEntries(keys.map((key) => [key, fields[key]])));
}

/** A template of OpenClaw in our syntax. */
interface ConvertedTemplate {
  template: string;
  /** The replacement of `{{path}}`: the hook's name, or the whole path if the name is unknown. */
  path: "name" | "whole" | undefined;
  /** The list whose first item it takes: `messages` of `{{messages[0].id}}`. */
  takesFirst: string | undefined;
}

/** Names that mean something else here, or are helpers. OpenClaw reads them from the payload. */
const OURS = new Set(
  "item index method rawBody base json default truncate join lower upper date eq and or not lookup before if unless each with this".split(
    " ",
  ),
);

/** A placeholder holds a path of keys and indexes there, and nothing else. `hook`: the name that `{{path}}` stands for. */
export function convertTemplate(text: string, hook: string | undefined): ConvertedTemplate {
  let named: ConvertedTemplate["path"];
  let takesFirst: string | undefined;
  const template = text.replace(/\{\{([^{}]+)\}\}/g, (_, given: string) => {
    const expression = given.trim();
    if (expression === "path") {
      named = hook === undefined ? "whole" : "name";
      return hook ?? "{{path}}";
    }
    const keys = expression.match(/[^.[\]]+/g) ?? [];
    const first = keys[0] === "payload" ? keys[1] : keys[0];
    if (/^(?:payload\.)?[\w$-]+\[0\]/.test(expression)) takesFirst ??= first;
    const isPlain = /^[\w$-]+(?:\.[\w$-]+|\[\d+\])*$/.test(expression);
    const converted = isPlain ? expression : keys.map(toSegment).join(".");
    return `{{${OURS.has(keys[0] ?? "") ? `payload.${converted}` : converted}}}`;
  });
  return { template, path: named, takesFirst };
}

function toSegment(key: string): string {
  return /^[A-Za-z_$][\w$-]*$/.test(key) ? key : `[${key}]`;
}
