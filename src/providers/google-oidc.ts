import type { FromSchema } from "json-schema-to-ts";
import type { SignatureDefinition } from "../plugin.ts";
import { parseDuration } from "../shared/time.ts";
import { createGoogleTokenVerifier, GOOGLE_TOKEN, MALFORMED_TOKEN } from "../shared/google-token.ts";
import { valuesOf } from "./signature.ts";
import { TOLERANCE } from "./row.ts";

const { audience, serviceAccount, keysUrl } = GOOGLE_TOKEN;

const schema = {
  type: "object",
  additionalProperties: false,
  required: ["audience", "serviceAccount"],
  properties: { audience, serviceAccount, tolerance: { ...TOLERANCE, default: "1m" }, keysUrl },
} as const;

/** A JSON Web Token of Google, as Pub/Sub, Cloud Tasks and Cloud Scheduler send it. */
export const googleOidc: SignatureDefinition<FromSchema<typeof schema>> = {
  schema,
  docs: "https://docs.cloud.google.com/pubsub/docs/authenticate-push-subscriptions",
  deliveryId: "{{payload.message.messageId}}",
  about: { header: "`authorization`: `Bearer`", signed: "a token with audience and account", tolerance: "1m" },
  async create({ tolerance, ...options }) {
    const verify = await createGoogleTokenVerifier({ ...options, toleranceMs: parseDuration(tolerance) });
    return {
      presents: ({ headers }) => /^bearer /i.test(headers.authorization ?? ""),
      async verify({ rawHeaders, receivedAt }) {
        const [authorization, ...more] = valuesOf(rawHeaders, "authorization");
        return more.length > 0 ? MALFORMED_TOKEN : verify(authorization, receivedAt);
      },
    };
  },
};
