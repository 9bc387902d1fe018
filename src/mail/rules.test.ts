import { describe, expect, test } from "vitest";
import { examineConfig } from "../config/examine.ts";
import type { Mailbox, UserConfig } from "../config/schema/generated.ts";

type Hooks = NonNullable<UserConfig["hooks"]>;

const IMAP: Mailbox = { kind: "imap", host: "mail.example.com", user: "ann", password: "x" };
const GMAIL: Mailbox = {
  kind: "gmail",
  user: "ann@example.com",
  oauth: { clientId: "c", refreshToken: "r" },
};
const OAUTH = { clientId: "c", refreshToken: "r", tokenUrl: "https://example.com/token" };
const TOPIC = "projects/p/topics/t";
const SUBSCRIPTION = "projects/p/subscriptions/s";
const INSECURE = "must begin with https:// unless it is on this machine";
const PUSH = { audience: "a", serviceAccount: "s@example.com" };

test.each<[string, Mailbox]>([
  ["a password", IMAP],
  ["oauth", { ...IMAP, password: undefined, oauth: OAUTH }],
  ["no TLS on this machine", { ...IMAP, host: "127.0.0.1", tls: "none" }],
  ["gmail that is asked", GMAIL],
  ["gmail that is pulled", { ...GMAIL, topic: TOPIC, subscription: SUBSCRIPTION }],
  ["gmail on this machine", { ...GMAIL, apiUrl: "http://127.0.0.1:1", pubsubUrl: "http://[::1]:1" }],
  ["gmail that pushes", { ...GMAIL, topic: TOPIC, push: PUSH }],
])("%s is good", (_, source) => {
  expect(examine({ source })).toEqual({ errors: [], warnings: [] });
});

test.each<[string, Partial<Mailbox>, string]>([
  ["a host", { host: undefined }, '.host: is required for kind "imap"'],
  ["a user", { user: undefined }, '.user: is required for kind "imap"'],
  ["a login", { password: undefined }, '.password: is required for kind "imap", or oauth in its place'],
  ["one login alone", { oauth: OAUTH }, ".oauth: stands beside a password: keep the one that opens the mailbox"],
  [
    "a token's address",
    { password: undefined, oauth: { ...OAUTH, tokenUrl: undefined } },
    '.oauth.tokenUrl: is required for kind "imap"',
  ],
  [
    "TLS to another machine",
    { tls: "none" },
    '.tls: "none" would send the password in clear: it is for this machine only',
  ],
])("imap needs %s", (_, change, problem) => {
  expect(examine({ source: defined({ ...IMAP, ...change }) }).errors).toEqual([`hooks.mail.source${problem}`]);
});

test.each<[string, Partial<Mailbox>, string]>([
  ["a user", { user: undefined }, '.user: is required for kind "gmail"'],
  ["oauth", { oauth: undefined }, '.oauth: is required for kind "gmail"'],
  ["an address", { user: "ann" }, ".user: must be the mailbox's address"],
  [
    "a topic to be notified",
    { subscription: SUBSCRIPTION },
    ".topic: is required with subscription or push: Gmail notifies it",
  ],
  [
    "one way to be notified",
    { topic: TOPIC, subscription: SUBSCRIPTION, push: PUSH },
    ".push: stands beside a subscription that is pulled: keep one of them",
  ],
  ["Gmail in safety", { apiUrl: "http://example.com" }, `.apiUrl: ${INSECURE}`],
  ["Pub/Sub in safety", { pubsubUrl: "http://127.0.0.1.example.com" }, `.pubsubUrl: ${INSECURE}`],
  [
    "tokens in safety",
    { oauth: { ...OAUTH, tokenUrl: "http://user@example.com/token" } },
    `.oauth.tokenUrl: ${INSECURE}`,
  ],
  [
    "keys in safety",
    { topic: TOPIC, push: { ...PUSH, certsUrl: "http://10.0.0.1/certs" } },
    `.push.certsUrl: ${INSECURE}`,
  ],
])("gmail needs %s", (_, change, problem) => {
  expect(examine({ source: defined({ ...GMAIL, ...change }) }).errors).toEqual([`hooks.mail.source${problem}`]);
});

describe("what has no effect is warned of", () => {
  test("settings of the other kind", () => {
    expect(examine({ source: { ...IMAP, topic: TOPIC } }).warnings).toEqual([
      'hooks.mail.source.topic: has no effect on a mailbox of kind "imap"',
    ]);
    expect(examine({ source: { ...GMAIL, folders: ["INBOX"] } }).warnings).toEqual([
      'hooks.mail.source.folders: has no effect on a mailbox of kind "gmail"',
    ]);
  });

  test("a topic that nothing listens to", () => {
    expect(examine({ source: { ...GMAIL, topic: TOPIC } }).warnings).toEqual([
      expect.stringMatching(/^hooks\.mail\.source\.topic: has no effect without subscription or push/),
    ]);
  });

  test("dmarc results that anybody may have written", () => {
    const mail = { source: IMAP, filter: { dmarc: "pass" } } as const;
    expect(examine(mail).warnings).toEqual([expect.stringMatching(/^hooks\.mail\.filter\.dmarc: can be forged/)]);
    expect(examine({ ...mail, authservId: "mx.example.com" }).warnings).toEqual([]);
  });
});

describe("a hook that takes no mail is warned of", () => {
  const warned = [expect.stringContaining("hooks.mail.source: posts to a hook that no mapping answers")];

  test.each<[string, Hooks, unknown[]]>([
    ["the preset is not in use", { presets: [] }, warned],
    [
      "the mappings are for others",
      { presets: [], mappings: [{ match: { path: "x" }, messageTemplate: "x" }] },
      warned,
    ],
    ["a mapping takes mail", { presets: [], mappings: [{ match: { path: "/mail" }, messageTemplate: "x" }] }, []],
    ["a mapping takes all", { presets: [], mappings: [{ match: { source: "imap" }, messageTemplate: "x" }] }, []],
  ])("%s", (_, hooks, warnings) => {
    expect(examine({ source: IMAP }, hooks).warnings).toEqual(warnings);
  });

  test("the hooks are off", () => {
    expect(examine({ source: IMAP }, { enabled: false }).warnings).toEqual([
      "hooks.mail.source: posts nothing while hooks.enabled is not true",
    ]);
  });
});

test("without a mailbox there is nothing to say", () => {
  expect(examine({ model: "x" })).toEqual({ errors: [], warnings: [] });
});

test("what only the preset reads is warned of without it", () => {
  const mail = { channel: "last", to: "1", model: "m", thinking: "low", instructions: "x" };
  expect(examine(mail).warnings).toEqual([]);
  expect(examine(mail, { presets: [] }).warnings).toEqual(
    Object.keys(mail).map((setting) => expect.stringContaining(`hooks.mail.${setting}: has no effect`)),
  );
});

function examine(mail: Hooks["mail"], hooks: Hooks = {}): { errors: string[]; warnings: string[] } {
  const config = {
    hooks: { enabled: true, token: "a-hook-token-of-good-length", presets: ["mail"], mail, ...hooks },
  };
  const { problems, warnings } = examineConfig(config, { baseDir: "/", env: {} });
  const toText = ({ key, message }: { key?: string; message: string }) => `${key}: ${message}`;
  return { errors: problems.map(toText), warnings: warnings.map(toText) };
}

/** As a file would say it: what is undefined is not there. */
function defined(source: Mailbox): Mailbox {
  return JSON.parse(JSON.stringify(source));
}
