import { isObject, readOwn, toObject, toText, withoutUndefined } from "../../core/shared/json.ts";
import { ACCOUNT_NAME, channelKind, toChannelName } from "../../core/shared/channel-names.ts";
import { type Conversion, decide, type Fields, toSecret } from "./conversion.ts";

/** Which option of a channel comes from which of OpenClaw's. The first is required. */
const CHANNELS: Record<string, Record<string, string>> = {
  slack: { token: "botToken" },
  discord: { token: "token" },
  telegram: { token: "botToken" },
  mattermost: { token: "botToken", baseUrl: "baseUrl" },
  signal: { account: "account", baseUrl: "httpUrl" },
  msteams: { appPassword: "appPassword", appId: "appId", tenantId: "tenantId" },
};

/** The blocks that can be used here. */
export function convertChannels(conversion: Conversion): Fields {
  const blocks = Object.entries(toObject(conversion.root["channels"])).flatMap(([label, given]) =>
    listAccounts(conversion, toChannelName(label.toLowerCase()), given).map(([name, block]) => [
      name,
      isObject(block) && block["enabled"] !== false ? toBlock(conversion, name, block) : undefined,
    ]),
  );
  return withoutUndefined(Object.fromEntries(blocks));
}

function toBlock(conversion: Conversion, name: string, block: Fields): Fields | undefined {
  const kind = channelKind(name);
  if (kind === "imessage") {
    const { cliPath } = block;
    return withoutUndefined({ command: typeof cliPath === "string" ? [cliPath, "rpc"] : undefined });
  }
  const values = Object.entries(CHANNELS[kind] ?? {}).map(([option, key]) => {
    const isSecret = /token|password/i.test(option);
    const secretName = `${name.replace(":", "-")}-${option}`;
    return [option, isSecret ? toSecret(conversion, block[key], secretName) : block[key]] as const;
  });
  return values[0]?.[1] === undefined ? undefined : withoutUndefined(Object.fromEntries(values));
}

/** The blocks of a channel by their names: its usual account has the name of the channel, as without `accountId`. */
function listAccounts(conversion: Conversion, name: string, block: unknown): [string, unknown][] {
  const accounts = toObject(readOwn(block, "accounts"));
  const [first] = Object.keys(accounts);
  if (first === undefined) return [[name, block]];
  const named = toText(readOwn(block, "defaultAccount"));
  const usual = [named, "default"].find((id) => Object.hasOwn(accounts, id)) ?? first;
  const others = Object.keys(accounts).filter((id) => id !== usual);
  const leftOut = others.filter((id) => !ACCOUNT.test(id));
  if (leftOut.length > 0) {
    const sentence = `Names of accounts have 1 to 24 small letters, digits and -. Left out: ${leftOut.join(", ")}.`;
    decide(conversion, ["channels", name], sentence);
  }
  return [usual, ...others.filter((id) => ACCOUNT.test(id))].map((id) => [
    id === usual ? name : `${name}:${id}`,
    { ...toObject(block), ...toObject(accounts[id]) },
  ]);
}

const ACCOUNT = new RegExp(`^${ACCOUNT_NAME}$`);
