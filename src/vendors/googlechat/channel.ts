import type { FromSchema } from "json-schema-to-ts";
import type { ChannelDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, objectSchema, toObject } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { createApi, type HttpAnswer, isSuccess, recipientCheck, type Refusal, requireId } from "../kit/http.ts";
import { createOpenFile } from "../kit/files.ts";
import { type Dialect, renderMarkdown, measureAs } from "../kit/text/markdown.ts";
import { WHATSAPP } from "../kit/text/dialects.ts";
import { createTokenSource, fetchAccessToken, signJwt } from "../kit/token.ts";

const schema = {
  description: "Google Chat, as a Chat app with a service account.",
  ...objectSchema(["email", "privateKey"], {
    email: {
      type: "string",
      pattern: "^\\S+@\\S+$",
      description: "The service account: `client_email` of its key file.",
    },
    privateKey: { ...NON_BLANK, description: "`private_key` of the key file, PEM. \\n may stand for line ends." },
    baseUrl: { ...HTTP_URL, description: "For tests and proxies. Default: https://chat.googleapis.com." },
    tokenUrl: { ...HTTP_URL, description: "For tests. Default: https://oauth2.googleapis.com/token." },
  }),
} as const;

type GooglechatOptions = Pick<FromSchema<typeof schema>, "email" | "privateKey"> & Partial<FromSchema<typeof schema>>;

export const googlechat: ChannelDefinition<GooglechatOptions> = {
  schema,
  create: createGooglechat,
  about: {
    to: "`spaces/AAAAabcd`, with `/threads/` and its id a thread",
    needs: "a service account of the Chat app's project; the app is in the space",
    testedAgainst: "a double, written from Google's reference",
  },
};

/** An app as itself: it reads and writes in the spaces that it is in, and needs nobody's consent. */
const SCOPE = "https://www.googleapis.com/auth/chat.bot";

const ADVICE = new Map([
  [401, "Check channels.googlechat.email and privateKey."],
  [403, "Add the app to the space, and enable the Google Chat API in its project."],
  [404, "Check the recipient, and that the app is in the space."],
]);

const SPACE = "spaces/[\\w-]{1,100}";
const MESSAGE = new RegExp(`^${SPACE}/messages/[\\w-]{1,200}(?:\\.[\\w-]{1,200})?$`);

/** A segment of the name of a file. */
const SEGMENT = /^(?!\.+$)[\w.=+~-]{1,1500}$/;

/** `<users/all>` would notify everybody, and `<https://…|text>` hides where a link leads. */
const CHAT: Dialect = { ...WHATSAPP, text: breakAngles, code: (plain) => WHATSAPP.code(breakAngles(plain)) };

/** Writes as a Chat app. https://developers.google.com/workspace/chat/api/reference/rest */
export function createGooglechat({
  email,
  privateKey,
  baseUrl = "https://chat.googleapis.com",
  tokenUrl = "https://oauth2.googleapis.com/token",
}: GooglechatOptions): ChannelDriver {
  // https://developers.google.com/identity/protocols/oauth2/service-account
  const tokens = createTokenSource(SIGN_IN, (signal) => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: email, scope: SCOPE, aud: tokenUrl, iat: now - 60, exp: now + 3540 };
    const assertion = signJwt(claims, privateKey, "channels.googlechat.privateKey");
    const form = { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion };
    const advice = "Check channels.googlechat.email and privateKey.";
    return fetchAccessToken({ service: SIGN_IN, url: tokenUrl, form, secret: assertion, advice }, signal);
  });
  const open = createApi({ service: "Google Chat", baseUrl, root: "/v1", token: () => tokens, explain });
  return {
    name: "googlechat",
    // https://developers.google.com/workspace/chat/api/reference/rest/v1/media/download
    openFile: createOpenFile({
      service: "Google Chat",
      authorize: open.authorize,
      locate({ id = "" }, { baseUrl: root }) {
        for (const segment of id.split("/")) requireId(segment, "Google Chat", SEGMENT);
        return `${root}/media/${id}?alt=media`;
      },
    }),
    limit: 4096,
    measureMarkdown: measureAs(CHAT),
    checkRecipient: recipientCheck(
      new RegExp(`^${SPACE}(?:/threads/[\\w.-]{1,200})?$`),
      "a space such as spaces/AAAAabcd, or with /threads/ and its id a thread",
    ),
    addressOf: toSpace,
    canUpdate: true,
    async send({ to, text, format, idempotencyKey, replaces }, signal) {
      const call = await open(signal);
      const content = { text: format === "markdown" ? await renderMarkdown(text, CHAT) : breakAngles(text) };
      const edited = replaces && (await call("PATCH", `/${replaces}?updateMask=text`, content, [404]));
      if (edited && isSuccess(edited)) return { messageId: replaces };
      const space = toSpace(to);
      const query = new URLSearchParams({
        // A repeat gets the message that there is.
        requestId: idempotencyKey,
        messageReplyOption: "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD",
      });
      const message = { ...content, ...(to !== space && { thread: { name: to } }) };
      const { body } = await call("POST", `/${space}/messages?${query.toString()}`, message);
      return { messageId: requireId(body["name"], "Google Chat", MESSAGE) };
    },
    async remove(_, messageId, signal) {
      await (
        await open(signal)
      )("DELETE", `/${messageId}`, undefined, [404]);
    },
  };
}

const SIGN_IN = "Google's sign-in";

function toSpace(to: string): string {
  return to.split("/", 2).join("/");
}

function breakAngles(text: string): string {
  return text.replaceAll("<", "<\u200B");
}

function explain({ status, body }: HttpAnswer): Refusal {
  return { reason: toObject(body["error"])["message"], advice: ADVICE.get(status) };
}
