import { type Segment, toObject, toText, withoutUndefined } from "../../core/shared/json.ts";
import { toChannelName } from "../../core/shared/channel-names.ts";
import { trimSlashes } from "../../core/shared/text/text.ts";
import { type Conversion, decide, type Fields, pick, PROVIDER } from "./conversion.ts";
import { convertTemplate } from "./convert-template.ts";

/** Settings that mean the same here. */
const SAME = ["action", "wakeMode", "deliver", "allowUnsafeExternalContent", "timeoutSeconds", "transform"];
const TEMPLATES = ["name", "sessionKey", "messageTemplate", "textTemplate", "to", "thinking"];
const OTHERS = ["id", "match", "channel", "model", "agentId", "sessionMode", "forEach"];

/** `channels`: those of the new configuration. */
export function convertMapping(conversion: Conversion, mapping: Fields, index: number, channels: Fields): Fields {
  const at = ["hooks", "mappings", index];
  const { path, source } = toObject(mapping["match"]);
  const hook = typeof path === "string" ? trimSlashes(path.trim()) || undefined : undefined;
  const { action, forEach, agentId, sessionKey, sessionMode } = mapping;
  const templates = convertTemplates(conversion, mapping, hook, at);
  explainDifferences(conversion, mapping, at);
  const isIsolated = sessionKey !== undefined && sessionMode !== "persistent" && action !== "wake";
  return withoutUndefined({
    id: mapping["id"],
    match: hook === undefined && source === undefined ? undefined : withoutUndefined({ path: hook, source }),
    ...(forEach !== undefined && { forEach, forEachNarrows: true }),
    ...pick(mapping, SAME),
    ...templates,
    ...(isIsolated && { sessionMode: "isolated" }),
    ...(agentId !== undefined && { model: `${PROVIDER}/openclaw:${toText(agentId)}` }),
    ...convertRecipient(conversion, { ...mapping, ...templates }, at, channels),
  });
}

function convertTemplates(conversion: Conversion, mapping: Fields, hook: string | undefined, at: Segment[]): Fields {
  const templates: Fields = {};
  let list: string | undefined;
  for (const [key, text] of Object.entries(pick(mapping, TEMPLATES))) {
    const { template, path, takesFirst } = convertTemplate(String(text), hook);
    templates[key] = template;
    if (path !== undefined) {
      conversion.changes.add(
        "{{path}} is the whole path here. Where the hook's name is known, templates contain it instead.",
      );
    }
    if (path === "whole") {
      decide(conversion, [...at, key], "{{path}} was the hook's name; it is the whole path here, as /hooks/name.");
    }
    if (takesFirst === undefined || list !== undefined || mapping["forEach"] !== undefined) continue;
    list = takesFirst;
    const each = `forEach: "${list}" with forEachNarrows: true handles each of them, as ${list}[0].`;
    decide(conversion, [...at, key], `Only the first of ${list} is handled. ${each}`);
  }
  return templates;
}

/** Says what works in another way here. */
function explainDifferences(conversion: Conversion, mapping: Fields, at: Segment[]): void {
  const { agentId, forEach, model, sessionKey, sessionMode } = mapping;
  const { changes } = conversion;
  if (forEach !== undefined) {
    changes.add(
      "forEach: more than hooks.maxFanOut (1000) items are answered 413; OpenClaw drops those after the 200th.",
    );
  }
  if (sessionKey !== undefined && sessionMode !== "persistent") {
    changes.add("Without sessionMode, turns of one session share their history, as with sessionMode: persistent.");
    decide(
      conversion,
      [...at, "sessionKey"],
      "Each run was a fresh session (sessionMode: isolated), and still is. Without sessionMode, runs share their history.",
    );
  }
  if (model !== undefined) {
    const sentence = `The model was ${JSON.stringify(model)}. OpenClaw's agent chooses its own; to use this one, add its provider to agents.providers.`;
    decide(conversion, agentId === undefined ? at : [...at, "model"], sentence);
  }
  const unknown = Object.keys(mapping).filter((key) => ![...SAME, ...TEMPLATES, ...OTHERS].includes(key));
  if (unknown.length > 0) decide(conversion, at, `Left out, since it is not known here: ${unknown.join(", ")}.`);
}

function convertRecipient(
  conversion: Conversion,
  { channel, to, deliver }: Fields,
  at: Segment[],
  channels: Fields,
): Fields {
  if (channel === undefined || channel === "last" || deliver === false) return { channel };
  const name = toText(channel).includes("{{") ? toText(channel) : toChannelName(toText(channel).trim().toLowerCase());
  if (name in channels || name.includes("{{")) {
    // `channel:C0123` is OpenClaw's way to write what the channel itself calls C0123.
    return { channel: name, to: typeof to === "string" ? to.replace(/^channel:/, "") : to };
  }
  const recipient = to === undefined ? name : `${name}, ${JSON.stringify(to)}`;
  const sentence = `The reply went to ${recipient}: add a channels.${name} block, or choose another channel.`;
  decide(conversion, [...at, "deliver"], sentence);
  return { deliver: false, to: undefined };
}
