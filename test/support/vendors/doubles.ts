import { CHAT_ACCOUNT } from "../googlechat.ts";
import type { VendorDoubles } from "../../../src/contracts/index.ts";
import type { VerifiedEvent } from "../../../src/core/ports/vendor.ts";

type Fields = Record<string, unknown>;

const ANN = { login: "ann", id: 11, type: "User" };
const GITHUB_COMMENT: Fields = {
  user: ANN,
  body: "approve 7f3k",
  html_url: "https://github.com/acme/ops/issues/1#issuecomment-5",
  created_at: "2026-01-05T09:00:00Z",
  updated_at: "2026-01-05T09:00:00Z",
  performed_via_github_app: null,
};

function onGithub(comment: Fields = {}, payload: Fields = {}, event = "issue_comment"): VerifiedEvent {
  const usual = { action: "created", issue: { number: 1 }, repository: { full_name: "acme/ops" }, sender: ANN };
  const written = { ...usual, comment: { ...GITHUB_COMMENT, ...comment }, ...payload };
  return { payload: written, headers: { "x-github-event": event } };
}

function inSlack(event: Fields = {}): VerifiedEvent {
  const usual = {
    type: "message",
    channel: "C0OPS",
    user: "U0ANN",
    text: "approve 7f3k",
    ts: "1767603700.000200",
    thread_ts: "1767603600.000100",
    team: "T0ACME",
  };
  return { payload: { type: "event_callback", team_id: "T0ACME", event: { ...usual, ...event } }, headers: {} };
}

function inTelegram(message: Fields = {}, kind = "message"): VerifiedEvent {
  const chat = { id: -1001234567890, type: "supergroup" };
  const usual = { message_id: 12, from: { id: 222, is_bot: false }, chat, date: 1767603600, text: "approve 7f3k" };
  return { payload: { update_id: 1, [kind]: { ...usual, ...message } }, headers: {} };
}

const channel = (to: string, block: Fields = { token: "t" }) => ({
  to,
  block: (baseUrl: string): object => ({ ...block, baseUrl }),
});

const VALUE = "pB8cX0wq7R1nZ3yV5tK9mL2jH4gF6dSa";
const BUTTON = `hookline:${VALUE}`;

function pressInSlack(fields: Fields = {}): VerifiedEvent {
  const payload = {
    type: "block_actions",
    user: { id: "U0ANN", team_id: "T0ACME" },
    team: { id: "T0ACME" },
    container: { type: "message", message_ts: "1767603600.000100", channel_id: "C0OPS" },
    message: { ts: "1767603600.000100" },
    actions: [{ type: "button", action_id: "hookline-0", value: BUTTON }],
  };
  return { payload: { ...payload, ...fields }, headers: {} };
}

function pressInTelegram(data = BUTTON, isBot = false): VerifiedEvent {
  const message = { message_id: 12, chat: { id: -1001234567890, type: "supergroup" } };
  const from = { id: 222, is_bot: isBot };
  return { payload: { update_id: 2, callback_query: { id: "q1", from, message, data } }, headers: {} };
}

function pressInDiscord(data: Fields = {}, type = 3): VerifiedEvent {
  const at = { channel_id: "175928847299117063", message: { id: "334384849860000001" } };
  const pressed = { component_type: 2, custom_id: BUTTON, ...data };
  return { payload: { id: "1", type, data: pressed, member: { user: { id: "222" } }, ...at }, headers: {} };
}

function pressInMattermost(context: Fields = { hookline: BUTTON }): VerifiedEvent {
  return { payload: { user_id: "ann", post_id: "post", channel_id: "channel", context }, headers: {} };
}

/** How each built-in vendor is tried with `testVendor`, by its name. */
export const doubles: Record<string, VendorDoubles> = {
  azuredevops: { hooks: { place: "acme/My shop", events: ["build.complete"], id: "4" } },
  bitbucket: {
    channels: { bitbucket: channel("acme/app!12") },
    hooks: { place: "acme/app", events: ["pullrequest:created"], id: "4" },
  },
  chatwoot: { channels: { chatwoot: channel("3/42") } },
  discord: {
    channels: { discord: channel("175928847299117063") },
    presses: [
      {
        event: pressInDiscord(),
        press: { value: VALUE, person: "222", messageId: "334384849860000001", to: "175928847299117063" },
      },
    ],
    otherEvents: [pressInDiscord({ custom_id: "restart" }), pressInDiscord({}, 2), pressInDiscord({}, 5)],
  },
  gitea: {
    channels: { gitea: channel("acme/app#12") },
    hooks: { place: "acme/app", events: ["pull_request.opened"], id: "4" },
  },
  github: {
    channels: { github: channel("acme/app#12") },
    hooks: {
      place: "acme/app",
      events: ["issues.opened"],
      id: "4",
      answers: (url) => ({ "/repos/acme/app/hooks?per_page=100&page=1": [{ id: 4, config: { url } }] }),
    },
    limits: [
      { status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "4102444800" } },
      { status: 403, body: { message: "You have exceeded a secondary rate limit." } },
    ],
    messages: [
      {
        event: onGithub(),
        message: {
          text: "approve 7f3k",
          person: "11",
          to: "acme/ops#1",
          at: 1767603600,
          messageId: "https://github.com/acme/ops/issues/1#issuecomment-5",
        },
      },
    ],
    otherEvents: [
      onGithub({ user: { ...ANN, type: "Bot" } }),
      onGithub({ performed_via_github_app: { id: 1 } }),
      onGithub({ updated_at: "2026-01-05T09:05:00Z" }),
      onGithub({}, { action: "edited" }),
      onGithub({}, { sender: { ...ANN, id: 12 } }),
      onGithub({}, {}, "pull_request_review_comment"),
    ],
  },
  gitlab: {
    channels: { gitlab: channel("acme/app!12") },
    hooks: {
      place: "acme/app",
      events: ["merge_request.open"],
      id: "4",
      answers: (url) => ({ "/api/v4/projects/acme%2Fapp/hooks?per_page=100&page=1": [{ id: 4, url }] }),
    },
  },
  imessage: { channels: { imessage: null } },
  jira: {
    channels: { jira: channel("SHOP-12", { token: "t", email: "a@example.com" }) },
    hooks: { account: { email: "a@example.com" }, events: ["jira:issue_created"], id: "4" },
  },
  linear: {
    channels: { linear: channel("ENG-12") },
    hooks: { events: ["Issue.create"], id: "4" },
    limits: [{ status: 400, body: { errors: [{ message: "Slow down.", extensions: { code: "RATELIMITED" } }] } }],
  },
  mattermost: {
    channels: { mattermost: channel("x7ns1pxgpb8cdbm6axkoh6brqc") },
    presses: [{ event: pressInMattermost(), press: { value: VALUE, person: "ann", messageId: "post", to: "channel" } }],
    otherEvents: [pressInMattermost({}), pressInMattermost({ hookline: VALUE })],
  },
  googlechat: {
    channels: {
      googlechat: {
        to: "spaces/AAAAabcdEFG",
        block: (baseUrl) => ({ ...CHAT_ACCOUNT, baseUrl, tokenUrl: `${baseUrl}/token` }),
      },
    },
  },
  msteams: {
    channels: {
      msteams: {
        to: "19:abc@thread.tacv2",
        block: (baseUrl) => ({ appId: "1", appPassword: "p", baseUrl, tokenUrl: `${baseUrl}/token` }),
      },
    },
  },
  notion: { channels: { notion: channel("59e3eb4133b24151b05b31115a15e1c2") } },
  pagerduty: {
    channels: { pagerduty: channel("Q02JTSNZWHSEKV", { token: "t", from: "a@example.com" }) },
    hooks: { events: ["incident.annotated"], id: "4" },
  },
  sentry: { channels: { sentry: channel("4501", { token: "t", organization: "acme" }) } },
  shopify: {
    hooks: { place: "acme.myshopify.com", events: ["orders/create"], id: "gid://shopify/WebhookSubscription/4" },
    limits: [{ status: 200, body: { errors: [{ message: "Throttled", extensions: { code: "THROTTLED" } }] } }],
  },
  signal: { channels: { signal: channel("+15551234567", {}) } },
  slack: {
    channels: { slack: channel("C0123456789") },
    limits: [{ status: 200, body: { ok: false, error: "ratelimited" } }],
    messages: [
      {
        event: inSlack(),
        message: {
          text: "approve 7f3k",
          person: "T0ACME/U0ANN",
          to: "C0OPS:1767603600.000100",
          thread: { of: "C0OPS", messageId: "C0OPS:1767603600.000100" },
          at: 1767603700.0002,
          messageId: "C0OPS:1767603700.000200",
        },
      },
    ],
    otherEvents: [
      inSlack({ bot_id: "B0CI" }),
      inSlack({ app_id: "A0CI" }),
      inSlack({ edited: { user: "U0ANN", ts: "1" } }),
      inSlack({ subtype: "message_changed" }),
      inSlack({ attachments: [{ is_share: true, text: "approve 7f3k" }] }),
      inSlack({ type: "app_mention" }),
      inSlack({ user_profile: { is_restricted: true } }),
      pressInSlack({ actions: [{ type: "button", value: "restart" }] }),
      pressInSlack({ actions: [{ value: BUTTON }, { value: BUTTON }] }),
      pressInSlack({ type: "view_submission" }),
    ],
    presses: [
      {
        event: pressInSlack(),
        press: { value: VALUE, person: "T0ACME/U0ANN", messageId: "C0OPS:1767603600.000100", to: "C0OPS" },
      },
    ],
  },
  stripe: {
    hooks: {
      events: ["invoice.paid"],
      id: "we_1",
      answers: (url) => ({ "/v1/webhook_endpoints?limit=100": { data: [{ id: "we_1", url, status: "enabled" }] } }),
    },
  },
  telegram: {
    channels: { telegram: channel("-1001234567890", { token: "1:a" }) },
    hooks: { events: ["message"], id: "webhook" },
    messages: [
      {
        event: inTelegram(),
        message: {
          text: "approve 7f3k",
          person: "222",
          to: "-1001234567890",
          at: 1767603600,
          messageId: "-1001234567890:12",
        },
      },
    ],
    otherEvents: [
      inTelegram({ from: { id: 222, is_bot: true } }),
      inTelegram({ via_bot: { id: 9, is_bot: true } }),
      inTelegram({ edit_date: 1767603601 }),
      inTelegram({ forward_origin: { type: "user" } }),
      inTelegram({}, "edited_message"),
      inTelegram({}, "channel_post"),
      pressInTelegram("restart"),
      pressInTelegram(BUTTON, true),
    ],
    presses: [
      {
        event: pressInTelegram(),
        press: { value: VALUE, person: "222", messageId: "-1001234567890:12", to: "-1001234567890" },
      },
    ],
  },
  whatsapp: { channels: { whatsapp: channel("+15551234567", { token: "t", phoneNumberId: "1" }) } },
  zendesk: {
    channels: { zendesk: channel("12") },
    hooks: { place: "acme", account: { email: "a@example.com" }, events: ["ticket.comment_added"], id: "4" },
  },
};
