import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, toObject, objectSchema } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import {
  createApi,
  type HttpAnswer,
  isSuccess,
  recipientCheck,
  type Refusal,
  requireId,
  type TokenSource,
} from "../kit/http.ts";
import { createOpenFile } from "../kit/files.ts";
import { HTML } from "../kit/text/dialects.ts";
import { measureAs, renderMarkdown } from "../kit/text/markdown.ts";
import { createClientTokens } from "../kit/token.ts";

const schema = {
  description: "Microsoft Teams, through the Bot Framework's connector.",
  ...objectSchema(["appId", "appPassword"], {
    appId: { ...NON_BLANK, description: "Application id of the bot's registration." },
    appPassword: { ...NON_BLANK, description: "Its client secret." },
    tenantId: { type: "string", pattern: "^[\\w.-]+$", description: "The tenant of a single-tenant bot." },
    baseUrl: {
      ...HTTP_URL,
      description: "The service URL in the bot's activities. Default: https://smba.trafficmanager.net/teams.",
    },
    tokenUrl: {
      ...HTTP_URL,
      description:
        "For tests and other clouds. Default: the sign-in of the tenant at https://login.microsoftonline.com.",
    },
  }),
} as const;

type MsteamsOptions = FromSchema<typeof schema>;

export const msteams: ChannelDefinition<MsteamsOptions> = {
  schema,
  create: createMsteams,
  about: {
    to: "conversation id, which ends with `;messageid=…` for a thread",
    afterCrash: "may come twice",
    testedAgainst: "the npm package `@microsoft/m365agentsplayground`",
  },
};

const ADVICE = new Map([
  [401, "Check channels.msteams.appId and tenantId."],
  [403, "Install the bot where the conversation is."],
  [404, "Check the recipient and channels.msteams.baseUrl."],
]);

/** Statuses that Teams asks to retry. https://learn.microsoft.com/en-us/microsoftteams/platform/bots/how-to/rate-limit */
const LIMITS = new Set([412, 429]);

/**
 * Posts to Microsoft Teams through the Bot Framework's connector. It has no idempotency keys, so a message whose answer was
 * lost may arrive twice.
 */
export function createMsteams(options: MsteamsOptions): ChannelDriver {
  const { baseUrl = "https://smba.trafficmanager.net/teams" } = options;
  const tokens = createSignIn(options);
  const open = createApi({
    service: "Teams",
    baseUrl,
    root: "/v3/conversations",
    token: () => tokens,
    explain,
  });
  return {
    name: "msteams",
    openFile: createOpenFile({
      service: "Teams",
      authorize: open.authorize,
      hosts: ["*.sharepoint.com"],
      isFile: ({ pathname }) => /\/v3\/attachments\/[^/]+\/views\//.test(pathname),
    }),
    // Teams accepts about 28 KB of UTF-16 for the whole message.
    limit: 14_000,
    measureMarkdown: measureAs(HTML),
    // `19:…` is a channel or group chat, `a:…` a chat with one person, `;messageid=…` at the end a thread.
    checkRecipient: recipientCheck(
      /^(?:19|a):[\w.:;=@+~-]{3,500}$/,
      "the id of a Teams conversation such as 19:…@thread.tacv2 or a:…, as in the bot's activities",
    ),
    addressOf: (to) => to.replace(/;messageid=.*$/, ""),
    canUpdate: true,
    async send({ to, text, format, replaces }, signal) {
      const call = await open(signal);
      const path = `/${encodeURIComponent(to)}/activities`;
      const activity = {
        type: "message",
        textFormat: format === "markdown" ? "xml" : "plain",
        text: format === "markdown" ? await renderMarkdown(text, HTML) : text,
      };
      const edited = replaces && (await call("PUT", `${path}/${encodeURIComponent(replaces)}`, activity, [404]));
      // A message that was deleted meanwhile becomes a new one.
      const { body } = edited && isSuccess(edited) ? edited : await call("POST", path, activity);
      return { messageId: requireId(body["id"], "Teams") };
    },
    async remove(to, messageId, signal) {
      const call = await open(signal);
      await call("DELETE", `/${encodeURIComponent(to)}/activities/${encodeURIComponent(messageId)}`, undefined, [404]);
    },
  };
}

/** Words a refusal: a limit, which ends, or what the bot needs. */
function explain({ status, body }: HttpAnswer): Refusal {
  const { code: reason } = toObject(body["error"]);
  return LIMITS.has(status) ? { reason, retryable: true } : { reason, advice: ADVICE.get(status) };
}

/** Gets the bot's access tokens with its client credentials. */
export function createSignIn({
  appId,
  appPassword,
  tenantId = "botframework.com",
  tokenUrl = `https://login.microsoftonline.com/${tenantId}/oauth2/v2.0/token`,
}: MsteamsOptions): TokenSource {
  return createClientTokens({
    service: "Microsoft's sign-in",
    url: tokenUrl,
    id: appId,
    secret: appPassword,
    scope: "https://api.botframework.com/.default",
    advice: "Check channels.msteams.appId, appPassword and tenantId.",
  });
}
