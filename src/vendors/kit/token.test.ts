import { describeRefusals } from "../../../test/support/vendors/refusals.ts";
import { createClientTokens } from "./token.ts";

const OPTIONS = {
  service: "Acme",
  id: "client",
  secret: "secret-of-the-client",
  scope: "write",
  advice: "Check the app.",
};

describeRefusals("Acme", {
  uses: {
    "an access token": { call: (url) => createClientTokens({ ...OPTIONS, url }).get(AbortSignal.timeout(600_000)) },
  },
  limits: { "of requests": { status: 429, headers: { "retry-after": "7" }, body: {}, retryAfterMs: 7000 } },
  refusal: { error: "No." },
});
