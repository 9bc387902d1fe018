import type { FromSchema } from "json-schema-to-ts";
import type { DriverError } from "../errors.ts";
import type { DriverDefinition } from "../plugin.ts";
import { HTTP_URL, isObject, NON_BLANK } from "../shared/json.ts";
import { type ChannelDriver, recipientCheck } from "./driver.ts";
import { createTokenSource, type HttpAnswer, request, type Token, type TokenSource, toRefusal } from "./http.ts";
import { HTML, renderMarkdown } from "./markdown.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  description: "Microsoft Teams, through the Bot Framework's connector.",
  required: ["appId", "appPassword"],
  properties: {
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
  },
} as const;

type MsteamsOptions = FromSchema<typeof schema>;

export const msteams: DriverDefinition<ChannelDriver, MsteamsOptions> = { schema, create: createMsteams };

/** Teams accepts about 28 KB of UTF-16 for the whole message. */
const LIMIT = 14_000;

const ADVICE = new Map([
  [401, "Check channels.msteams.appId and tenantId."],
  [403, "Install the bot where the conversation is."],
  [404, "Check the recipient and channels.msteams.baseUrl."],
]);

/**
 * Posts to Microsoft Teams through the Bot Framework's connector. It has no idempotency keys, so a message whose answer was
 * lost may arrive twice.
 */
export function createMsteams(options: MsteamsOptions): ChannelDriver {
  const { baseUrl = "https://smba.trafficmanager.net/teams" } = options;
  const tokens = createSignIn(options);
  return {
    name: "msteams",
    limit: LIMIT,
    // `19:…` is a channel or group chat, `a:…` a chat with one person, `;messageid=…` at the end a thread.
    checkRecipient: recipientCheck(
      /^(?:19|a):[\w.:;=@+~-]{3,500}$/,
      "the id of a Teams conversation such as 19:…@thread.tacv2 or a:…, as in the bot's activities",
    ),
    addressOf: (to) => to.replace(/;messageid=.*$/, ""),
    canUpdate: true,
    async send({ to, text, format, replaces }, signal) {
      const content =
        format === "markdown"
          ? { textFormat: "xml", text: await renderMarkdown(text, HTML, LIMIT) }
          : { textFormat: "plain", text };
      const write = async (path: string, method: "POST" | "PUT"): Promise<HttpAnswer> => {
        const token = await tokens.get(signal);
        const answer = await request({
          service: "Teams",
          url: `${baseUrl.replace(/\/$/, "")}/v3/conversations/${encodeURIComponent(to)}/activities${path}`,
          method,
          headers: { authorization: `Bearer ${token}` },
          body: { type: "message", ...content },
          signal,
        });
        if (answer.status === 401) tokens.forget(token);
        return answer;
      };
      const edited = replaces && (await write(`/${encodeURIComponent(replaces)}`, "PUT"));
      // A message that was deleted meanwhile becomes a new one.
      const answer = !edited || edited.status === 404 ? await write("", "POST") : edited;
      const { status, body } = answer;
      // Without an id it is another server's answer, a proxy's sign-in page for example.
      if ([200, 201, 202].includes(status) && typeof body["id"] === "string") return { messageId: body["id"] };
      throw toDriverError(answer);
    },
  };
}

function toDriverError(answer: HttpAnswer): DriverError {
  const { error } = answer.body;
  return toRefusal("Teams", answer, {
    reason: isObject(error) ? error["code"] : undefined,
    advice: ADVICE.get(answer.status),
    // A token may be revoked early. The next attempt gets a new one.
    retryable: answer.status === 401 || undefined,
  });
}

const SIGN_IN = "Microsoft's sign-in";

/** Gets the bot's access tokens with its client credentials. */
export function createSignIn(options: MsteamsOptions): TokenSource {
  return createTokenSource(SIGN_IN, (signal) => fetchToken(options, signal));
}

async function fetchToken(
  {
    appId,
    appPassword,
    tenantId = "botframework.com",
    tokenUrl = `https://login.microsoftonline.com/${tenantId}/oauth2/v2.0/token`,
  }: MsteamsOptions,
  signal: AbortSignal,
): Promise<Token> {
  const answer = await request({
    service: SIGN_IN,
    url: tokenUrl,
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: appId,
      client_secret: appPassword,
      scope: "https://api.botframework.com/.default",
    }),
    signal,
  });
  const { access_token: token, expires_in: seconds, error } = answer.body;
  if (answer.status === 200 && typeof token === "string") {
    return { token, expiresAt: Date.now() + Number(seconds) * 1000 };
  }
  throw toRefusal(SIGN_IN, answer, {
    reason: error,
    advice: "Check channels.msteams.appId, appPassword and tenantId.",
  });
}
