import type { FromSchema } from "json-schema-to-ts";
import type { SignatureDefinition } from "../../core/ports/driver.ts";
import { HTTP_URL, NON_BLANK, objectSchema, parseObject, toObject } from "../../core/shared/json.ts";
import { TOLERANCE } from "../signatures/row.ts";
import { openToken } from "../signatures/tokens.ts";

const schema = objectSchema(["appId"], {
  appId: { ...NON_BLANK, description: "The bot's Microsoft App ID." },
  tolerance: { ...TOLERANCE, default: "5m" },
  keysUrl: {
    ...HTTP_URL,
    default: "https://login.botframework.com/v1/.well-known/keys",
    description: "For tests: the Bot Framework's public keys as a JSON Web Key Set.",
  },
});

/** A bot of Microsoft Teams. A reply shows our token at `serviceUrl`, so that address must be the signed one. */
export const signature: SignatureDefinition<FromSchema<typeof schema>> = {
  schema,
  docs: "https://learn.microsoft.com/en-us/azure/bot-service/rest-api/bot-framework-rest-connector-authentication",
  deliveryId: "{{payload.id}}",
  // The token is good for any body with the same service address.
  replay: () => "plain",
  about: { header: "`authorization`: `Bearer`", signed: "a token with the app and `serviceUrl`", tolerance: "5m" },
  create: ({ appId, tolerance, keysUrl }) =>
    openToken({
      header: "authorization",
      keys: { jwks: keysUrl },
      algorithms: ["RS256"],
      issuer: "https://api.botframework.com",
      audience: appId,
      tolerance,
      acceptsKey: (key) => [toObject(key)["endorsements"]].flat().includes("msteams"),
      accepts: ({ serviceurl }, { body }) =>
        typeof serviceurl === "string" && serviceurl === parseObject(body.toString())["serviceUrl"],
    }),
};
