import { toCommand } from "../../core/shared/text/command.ts";
import { ConfigError } from "../../core/errors.ts";
import { readPath, toObject, toObjects, toText, withoutUndefined } from "../../core/shared/json.ts";
import { convertChannels } from "./convert-channels.ts";
import { type Conversion, decide, type Fields, type Imported, pick, PROVIDER, toSecret } from "./conversion.ts";
import { convertMapping } from "./mappings.ts";

/** Settings of `hooks` that mean the same here. */
const SAME_IN_HOOKS = ["path", "maxBodyBytes", "defaultSessionKey", "allowedAgentIds"];

const LEFT_OUT: Record<string, string> = {
  allowedAgentIds: "hooks.allowedAgentIds is for the agents that requests name: that of a mapping is its model here.",
  sessionRetention: "Events and sessions are kept as store.retention says, not hooks.sessionRetention.",
  internal: "hooks.internal is not about webhooks and stays with OpenClaw.",
};

/**
 * Converts the webhooks of an OpenClaw configuration. Its own agents answer as before, through its chat completions. Throws a
 * `ConfigError` if there are none. Facts: https://docs.openclaw.ai/gateway/config-hooks and openclaw/openclaw,
 * src/gateway/hooks-mapping.ts.
 */
export function convertOpenClaw(written: unknown, target: Conversion["target"]): Imported {
  const conversion = startConversion(written, target);
  const { root, hooks, changes, decisions, secretFiles } = conversion;
  const channels = convertChannels(conversion);
  const mappings = toObjects(hooks["mappings"]).map((mapping, index) =>
    convertMapping(conversion, mapping, index, channels),
  );
  const prefixes = readPrefixes(hooks);
  const gmail = convertGmail(conversion, mappings, prefixes);
  const hooksBlock = withoutUndefined({
    enabled: hooks["enabled"] === true,
    ...pick(hooks, SAME_IN_HOOKS),
    allowedSessionKeyPrefixes: prefixes,
    token: toSecret(conversion, hooks["token"], "hook-token"),
    compat: "openclaw",
    allowRequestSessionKey: convertSessionPolicy(conversion, mappings, "presets" in gmail),
    ...gmail,
    mappings,
  });
  const config = { hooks: hooksBlock, agents: convertAgent(conversion), channels };
  const routes = Object.keys(toObject(readPath(root, ["plugins", "entries", "webhooks", "config", "routes"])));
  if (routes.length > 0) {
    changes.add(
      `The routes of OpenClaw's Webhooks plugin are for its task flows and stay there: ${routes.join(", ")}.`,
    );
  }
  for (const [key, sentence] of Object.entries(LEFT_OUT)) if (key in hooks) changes.add(sentence);
  return { config, decisions, changes: [...changes], secretFiles };
}

function startConversion(written: unknown, target: Conversion["target"]): Conversion {
  const root = escapeFileReferences(toObject(written));
  const hooks = toObject(root["hooks"]);
  if ("$include" in root || "$include" in hooks) {
    throw new ConfigError([
      { message: "$include is not followed. Put what it includes into the file, and import it again." },
    ]);
  }
  if (Object.keys(hooks).length === 0) {
    throw new ConfigError([{ message: "This configuration has no hooks, so there is nothing to import." }]);
  }
  const changes = new Set([
    "Senders post to Hookline's address: port 18790 instead of OpenClaw's.",
    "An accepted agent hook is answered 202 instead of 200, once it is stored.",
  ]);
  return { root, hooks, target, changes, decisions: [], secretFiles: new Map() };
}

/** OpenClaw has no references to files: such a text means itself, and must not become the content of a file. */
function escapeFileReferences(written: Fields): Fields {
  return toObject(JSON.parse(JSON.stringify(written).replaceAll("${file:", () => "$${file:")));
}

/** Without blank ones, which OpenClaw passes over. */
function readPrefixes({ allowedSessionKeyPrefixes: written }: Fields): string[] | undefined {
  if (written === undefined) return undefined;
  return [written]
    .flat()
    .map(toText)
    .filter((prefix) => prefix.trim() !== "");
}

/** The preset that takes mails, under OpenClaw's name for it too, and the settings of the mailbox. */
function convertGmail(conversion: Conversion, mappings: Fields[], prefixes: string[] = []): Fields {
  const { hooks, changes } = conversion;
  const known = [hooks["presets"]].flat().includes("gmail");
  const { account, maxBytes, thinking, model, allowUnsafeExternalContent } = toObject(hooks["gmail"]);
  if (!known && account === undefined) return {};
  const isMapped = mappings.some((mapping) => toObject(mapping["match"])["path"] === "gmail");
  const address = typeof account === "string" ? account : "<address>";
  const setup = `\`${toCommand("mail setup --address", address)}\` watches the mailbox without gog, Pub/Sub and Tailscale.`;
  const presets = ["hooks", "presets"];
  if (known && !isMapped) {
    decide(conversion, [...presets, 1], `OpenClaw's watcher posts here. ${setup} Then remove this entry.`);
  } else {
    decide(conversion, presets, setup);
  }
  if (model !== undefined) {
    const sentence = `The model for mails was ${JSON.stringify(model)}; OpenClaw's agent chooses its own.`;
    decide(conversion, presets, sentence);
  }
  if (allowUnsafeExternalContent === true) {
    decide(conversion, presets, "Mails are always wrapped in the safety boundary here.");
  }
  changes.add(
    "The preset gmail is mail here: one turn a mail, with the whole text, and a session key from the mail's id.",
  );
  const mail = withoutUndefined({ maxBytes, thinking });
  // OpenClaw's keys, where only those are allowed.
  const isAllowed = prefixes.length === 0 || prefixes.some((prefix) => "hook:mail:".startsWith(prefix));
  const sessionKey = isAllowed ? undefined : "{{#if item.id}}hook:gmail:{{truncate item.id 200}}{{/if}}";
  const watcher = { use: "mail", with: withoutUndefined({ path: "gmail", name: "Gmail", sessionKey }) };
  return {
    presets: [
      sessionKey === undefined ? "mail" : { use: "mail", with: { sessionKey } },
      ...(known && !isMapped ? [watcher] : []),
    ],
    ...(Object.keys(mail).length > 0 && { mail }),
  };
}

function convertSessionPolicy(conversion: Conversion, mappings: Fields[], takesMail: boolean): boolean {
  const { allowRequestSessionKey } = conversion.hooks;
  const isTemplated = takesMail || mappings.some((mapping) => String(mapping["sessionKey"]).includes("{{"));
  if (isTemplated && allowRequestSessionKey !== true) {
    const sentence = "Session keys of templates need true. With false, such requests are answered 400.";
    decide(conversion, ["hooks", "allowRequestSessionKey"], sentence);
  }
  return typeof allowRequestSessionKey === "boolean" ? allowRequestSessionKey : isTemplated;
}

function convertAgent(conversion: Conversion): Fields {
  const gateway = toObject(conversion.root["gateway"]);
  const { mode, token, password } = toObject(gateway["auth"]);
  const given = toSecret(conversion, mode === "password" ? password : token, "openclaw-token");
  const apiKey = mode === "none" ? undefined : (given ?? "${OPENCLAW_GATEWAY_TOKEN}");
  const { port = 18789 } = gateway;
  decide(
    conversion,
    ["agents", "providers", PROVIDER],
    "OpenClaw's own agents answer; set gateway.http.endpoints.chatCompletions.enabled: true there. Or set another provider in agents.providers.",
  );
  const provider = withoutUndefined({ kind: "gateway", baseUrl: `http://127.0.0.1:${String(port)}/v1`, apiKey });
  return { providers: { [PROVIDER]: provider }, defaults: { model: `${PROVIDER}/openclaw` } };
}
