import { describe, expect, test } from "vitest";
import { readAnswer } from "./answer.ts";

type Fields = Record<string, unknown>;

const SLACK_MESSAGE: Fields = {
  type: "message",
  channel: "C0OPS",
  channel_type: "channel",
  user: "U0ANN",
  text: "approve 7f3k",
  ts: "1767603700.000200",
  event_ts: "1767603700.000200",
  client_msg_id: "0b0d",
  team: "T0ACME",
  blocks: [{ type: "rich_text" }],
};

function slack(event: Fields = {}, envelope: Fields = {}) {
  const payload = { type: "event_callback", team_id: "T0ACME", event: { ...SLACK_MESSAGE, ...event }, ...envelope };
  return readAnswer("slack", { payload, headers: {} });
}

const TELEGRAM_MESSAGE: Fields = {
  message_id: 12,
  from: { id: 222, is_bot: false, first_name: "Ben" },
  chat: { id: -1001234567890, title: "Ops", type: "supergroup" },
  date: 1767603600,
  text: "approve 7f3k",
};

function telegram(message: Fields = {}, kind = "message") {
  return readAnswer("telegram", {
    payload: { update_id: 1, [kind]: { ...TELEGRAM_MESSAGE, ...message } },
    headers: {},
  });
}

const ANN = { login: "ann", id: 11, type: "User" };

const COMMENT: Fields = {
  user: ANN,
  body: "approve 7f3k",
  html_url: "https://github.com/acme/ops/issues/1#issuecomment-5",
  created_at: "2026-01-05T09:00:00Z",
  updated_at: "2026-01-05T09:00:00Z",
  performed_via_github_app: null,
};

function github(comment: Fields = {}, payload: Fields = {}, event = "issue_comment") {
  const written = {
    action: "created",
    issue: { number: 1 },
    repository: { full_name: "acme/ops" },
    sender: ANN,
    comment: { ...COMMENT, ...comment },
    ...payload,
  };
  return readAnswer("github", { payload: written, headers: { "x-github-event": event } });
}

test("an answer in Slack", () => {
  expect(slack()).toEqual({
    decision: "approve",
    code: "7f3k",
    person: "T0ACME/U0ANN",
    to: "C0OPS",
    at: 1767603700.0002,
    messageId: "C0OPS:1767603700.000200",
  });
  expect(slack({ thread_ts: "17.1", parent_user_id: "U0BOT" })).toMatchObject({
    to: "C0OPS:17.1",
    thread: { of: "C0OPS", messageId: "C0OPS:17.1" },
  });
});

test("an answer in Telegram", () => {
  const answer = {
    decision: "approve",
    person: "222",
    to: "-1001234567890",
    at: 1767603600,
    messageId: "-1001234567890:12",
  };
  expect(telegram()).toMatchObject(answer);
  const inTopic = { message_thread_id: 5, is_topic_message: true, reply_to_message: { message_id: 3 } };
  expect(telegram(inTopic)).toMatchObject({ ...answer, to: "-1001234567890/5" });
});

test("an answer on GitHub", () => {
  expect(github()).toMatchObject({ decision: "approve", person: "11", to: "acme/ops#1", at: 1767603600 });
});

test.each([
  ["approve 7f3k", { decision: "approve" }],
  ["Approve 7F3K\n", { decision: "approve", code: "7f3k" }],
  ["deny 7f3k", { decision: "deny", reason: undefined }],
  [
    "deny 7f3k because it is the wrong project:\nuse OPS",
    { decision: "deny", reason: "it is the wrong project:\nuse OPS" },
  ],
])("%j is an answer", (text, expected) => expect(slack({ text })).toMatchObject(expected));

test.each([
  "approve",
  "approve 7f3k please",
  "approve 7f3k 8g4m",
  "please approve 7f3k",
  "I approve 7f3k",
  "> approve 7f3k",
  "&gt; approve 7f3k",
  "`approve 7f3k`",
  "approve 7f3k\napprove 8g4m",
  "approve\u200B 7f3k",
  "аpprove 7f3k",
  "<@U0AGENT> approve 7f3k",
  "deny 7f3k because",
  "deny 7f3k, because no",
  "deny 7f3k nonsense",
])("%j is none, but a message like any other", (text) => {
  expect([slack({ text }), telegram({ text }), github({ body: text })]).toEqual([undefined, undefined, undefined]);
});

describe("a message that is not a person's own new one is no answer", () => {
  test.each([
    ["a bot", { bot_id: "B0CI" }],
    ["an app", { app_id: "A0CI" }],
    ["a workflow", { subtype: "bot_message", user: undefined }],
    ["an edit", { edited: { user: "U0ANN", ts: "1" } }],
    ["a changed message", { subtype: "message_changed", message: SLACK_MESSAGE }],
    ["a shared message", { attachments: [{ is_share: true, text: "approve 7f3k" }] }],
    ["a file", { subtype: "file_share", files: [{}] }],
    ["a mention", { type: "app_mention" }],
    ["a guest", { user_profile: { is_restricted: true } }],
    ["a guest of one channel", { user_profile: { is_ultra_restricted: true } }],
    ["somebody from another workspace", { user_team: "T0OTHER" }],
    ["nobody", { user: undefined }],
  ])("Slack: %s", (_, event) => expect(slack(event)).toBeUndefined());

  test("Slack: in a shared channel, the event's workspace is not the person's", () => {
    expect(slack({ team: undefined }, { is_ext_shared_channel: true })).toBeUndefined();
    expect(slack({ team: "T0OTHER" }, { is_ext_shared_channel: true })?.person).toBe("T0OTHER/U0ANN");
  });

  test.each([
    ["a bot", { from: { id: 222, is_bot: true } }],
    ["through a bot", { via_bot: { id: 9, is_bot: true } }],
    ["a business bot", { sender_business_bot: { id: 9 } }],
    ["a business account", { business_connection_id: "b" }],
    ["an edit", { edit_date: 1767603601 }],
    ["a forward", { forward_origin: { type: "user" } }],
    ["an old form of a forward", { forward_date: 1 }],
    ["a quote", { quote: { text: "approve 7f3k" } }],
    ["an answer to another chat", { external_reply: {} }],
    ["an anonymous administrator", { sender_chat: { id: -1001234567890 } }],
    ["a scheduled message", { is_from_offline: true }],
    ["a guest", { guest_query_id: "g" }],
    ["a caption", { text: undefined, caption: "approve 7f3k", photo: [] }],
  ])("Telegram: %s", (_, message) => expect(telegram(message)).toBeUndefined());

  test.each(["edited_message", "channel_post", "business_message", "guest_message"])("Telegram: %s", (kind) =>
    expect(telegram({}, kind)).toBeUndefined(),
  );

  test.each([
    ["a bot", { user: { ...ANN, type: "Bot" } }],
    ["an actor that ends in [bot]", { user: { ...ANN, login: "ann[bot]" } }],
    ["an app", { performed_via_github_app: { id: 1 } }],
    ["an edit", { updated_at: "2026-01-05T09:05:00Z" }],
    ["without a time", { created_at: undefined }],
  ])("GitHub: %s", (_, comment) => expect(github(comment)).toBeUndefined());

  test.each([
    ["an edited comment", { action: "edited" }],
    ["somebody else's", { sender: { ...ANN, id: 12 } }],
    ["a bot sent it", { sender: { ...ANN, type: "Bot" } }],
  ])("GitHub: %s", (_, payload) => expect(github({}, payload)).toBeUndefined());

  test("GitHub: another event", () => expect(github({}, {}, "pull_request_review_comment")).toBeUndefined());
});

test.each([undefined, null, [], "approve 7f3k", { event: "approve 7f3k" }, { message: 5 }, { comment: null }])(
  "another payload is none: %j",
  (payload) => {
    for (const preset of ["slack", "telegram", "github", "gitlab", "constructor"])
      expect(readAnswer(preset, { payload, headers: { "x-github-event": "issue_comment" } })).toBeUndefined();
  },
);
