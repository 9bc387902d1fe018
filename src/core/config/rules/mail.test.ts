import { describe, expect, test } from "vitest";
import { findProblems } from "../../../../test/support/config.ts";
import type { MailSourceOptions } from "../../../mail/sources.ts";
import type { UserConfig, UserConfigMailbox } from "../schema/generated.ts";

type Hooks = Omit<NonNullable<UserConfig["hooks"]>, "mail">;
type Mail = Omit<UserConfigMailbox, "source"> & { source?: MailSourceOptions };

const IMAP: MailSourceOptions = { kind: "imap", host: "mail.example.com", user: "ann", password: "x" };
const GMAIL: MailSourceOptions = {
  kind: "gmail",
  user: "ann@example.com",
  oauth: { clientId: "c", refreshToken: "r" },
};
const OAUTH = { clientId: "c", refreshToken: "r", tokenUrl: "https://example.com/token" };
const TOPIC = "projects/p/topics/t";
const SUBSCRIPTION = "projects/p/subscriptions/s";
const INSECURE = "The URL must begin with https:// unless it is on this machine.";
const PUSH = { audience: "a", serviceAccount: "s@example.com", keysUrl: "https://keys.example.com" };

test.each<[string, MailSourceOptions]>([
  ["a password", IMAP],
  ["oauth", { ...IMAP, password: undefined, oauth: OAUTH }],
  ["no TLS on this machine", { ...IMAP, host: "127.0.0.1", tls: "none" }],
  ["gmail that is asked", GMAIL],
  ["gmail that is pulled", { ...GMAIL, topic: TOPIC, subscription: SUBSCRIPTION }],
  ["gmail on this machine", { ...GMAIL, apiUrl: "http://127.0.0.1:1", pubsubUrl: "http://[::1]:1" }],
  ["gmail that pushes", { ...GMAIL, topic: TOPIC, push: PUSH }],
])("%s is good", async (_, source) => {
  expect(await examine({ source })).toEqual({ errors: [], warnings: [] });
});

test.each<[string, Partial<MailSourceOptions>, string]>([
  ["a host", { host: undefined }, ".host: This value is required."],
  ["a user", { user: undefined }, ".user: This value is required."],
  ["a login", { password: undefined }, ".password: A password is required, or oauth instead."],
  ["one login alone", { oauth: OAUTH }, ".oauth: Set either password or oauth, not both."],
  [
    "a token's address",
    { password: undefined, oauth: { ...OAUTH, tokenUrl: undefined } },
    ".oauth.tokenUrl: The URL for access tokens is required for an IMAP mailbox.",
  ],
  [
    "TLS to another machine",
    { tls: "none" },
    '.tls: "none" would send the password in clear text: it is for this machine only. Use "implicit" or "starttls".',
  ],
])("imap needs %s", async (_, change, problem) => {
  expect((await examine({ source: { ...IMAP, ...change } })).errors).toEqual([`hooks.mail.source${problem}`]);
});

test.each<[string, Partial<MailSourceOptions>, string]>([
  ["a user", { user: undefined }, ".user: This value is required."],
  ["oauth", { oauth: undefined }, ".oauth: This value is required."],
  ["an address", { user: "ann" }, ".user: The user must be the mailbox's address."],
  [
    "a topic to be notified",
    { subscription: SUBSCRIPTION },
    ".topic: A topic is required with subscription or push, because Gmail notifies it.",
  ],
  [
    "one way to be notified",
    { topic: TOPIC, subscription: SUBSCRIPTION, push: PUSH },
    ".push: Set either subscription or push, not both.",
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
    { topic: TOPIC, push: { ...PUSH, keysUrl: "http://10.0.0.1/certs" } },
    `.push.keysUrl: ${INSECURE}`,
  ],
])("gmail needs %s", async (_, change, problem) => {
  expect((await examine({ source: { ...GMAIL, ...change } })).errors).toEqual([`hooks.mail.source${problem}`]);
});

describe("what has no effect is warned of", () => {
  test("a topic that nothing listens to", async () => {
    expect((await examine({ source: { ...GMAIL, topic: TOPIC } })).warnings).toEqual([
      expect.stringMatching(/^hooks\.mail\.source\.topic: The topic has no effect without subscription or push/),
    ]);
  });

  test("dmarc results that anybody may have written", async () => {
    const mail = { source: IMAP, filter: { dmarc: "pass" } } as const;
    expect((await examine(mail)).warnings).toEqual([
      expect.stringMatching(/^hooks\.mail\.filter\.dmarc: The DMARC result can be forged/),
    ]);
    expect((await examine({ ...mail, authservId: "mx.example.com" })).warnings).toEqual([]);
  });
});

describe("a hook that takes no mail is warned of", () => {
  const warned = [expect.stringContaining("hooks.mail.source: The mailbox posts to a hook that no mapping answers")];

  test.each<[string, Hooks, unknown[]]>([
    ["the preset is not in use", { presets: [] }, warned],
    [
      "the mappings are for others",
      { presets: [], mappings: [{ match: { path: "x" }, messageTemplate: "x" }] },
      warned,
    ],
    ["a mapping takes mail", { presets: [], mappings: [{ match: { path: "/mail" }, messageTemplate: "x" }] }, []],
    ["a mapping takes all", { presets: [], mappings: [{ match: { source: "imap" }, messageTemplate: "x" }] }, []],
  ])("%s", async (_, hooks, warnings) => {
    expect((await examine({ source: IMAP }, hooks)).warnings).toEqual(warnings);
  });

  test("the hooks are off", async () => {
    expect((await examine({ source: IMAP }, { enabled: false })).warnings).toEqual([
      expect.stringMatching("^hooks.enabled: Hooks are off"),
      "hooks.mail.source: The mailbox posts nothing while hooks are off. Set hooks.enabled to true.",
    ]);
  });
});

test("without a mailbox there is nothing to say", async () => {
  expect(await examine({ thinking: "low" })).toEqual({ errors: [], warnings: [] });
});

test("what only the preset reads is warned of without it", async () => {
  const mail = { channel: "last", to: "1", model: "m", thinking: "low", instructions: "x" };
  expect((await examine(mail)).warnings).toEqual([]);
  expect((await examine(mail, { presets: [] })).warnings).toEqual(
    Object.keys(mail).map((setting) => expect.stringContaining(`hooks.mail.${setting}: This setting has no effect`)),
  );
});

test("mailboxes with the same name are an error", async () => {
  const mail: [Mail, ...Mail[]] = [{ source: IMAP }, { source: { ...IMAP, user: "bob" } }];
  expect((await examine(mail)).errors).toEqual([
    'hooks.mail[1].name: "imap" is already the name of another mailbox. Give each a different name.',
  ]);
});

test.each<[MailSourceOptions, MailSourceOptions]>([
  [IMAP, { ...IMAP, user: "Ann", folders: ["Lists"] }],
  [GMAIL, { ...GMAIL, user: "ANN@example.com" }],
])("an account in two mailboxes is an error: %j", async (source, other) => {
  expect((await examine([{ source }, { name: "other", source: other }])).errors).toEqual([
    "hooks.mail[1].source: This is the account of hooks.mail[0], and one process watches an account once. Add its folders there.",
  ]);
});

test("each mailbox of a list is examined", async () => {
  const mail: [Mail, ...Mail[]] = [
    { source: IMAP },
    { name: "bob", source: { ...IMAP, user: "bob", password: undefined } },
  ];
  expect((await examine(mail)).errors).toEqual([
    "hooks.mail[1].source.password: A password is required, or oauth instead.",
  ]);
});

function examine(mail: Mail | [Mail, ...Mail[]], hooks: Hooks = {}): ReturnType<typeof findProblems> {
  return findProblems({
    gateway: { auth: { token: "the-token-of-the-gateway" } },
    hooks: { enabled: true, token: "a-hook-token-of-good-length", presets: ["mail"], mail, ...hooks },
  });
}
