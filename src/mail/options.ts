import type { OptionProblem } from "../plugin.ts";
import { HTTP_URL } from "../shared/json.ts";
import { isLoopback } from "../shared/network.ts";

export const TEXT = { type: "string", minLength: 1 } as const;

/** Access by OAuth 2 with a refresh token. */
export const oauthSchema = {
  type: "object",
  additionalProperties: false,
  required: ["clientId", "refreshToken"],
  properties: {
    tokenUrl: { ...HTTP_URL, description: "Where access tokens come from." },
    clientId: { ...TEXT, description: "The client's id." },
    clientSecret: { ...TEXT, description: "The client's secret, if it has one, as ${ENV} or ${file:PATH}." },
    refreshToken: { ...TEXT, description: "As ${ENV} or ${file:PATH}." },
    scope: { ...TEXT, description: "Scopes to ask for, separated by spaces, if the provider requires them." },
  },
} as const;

/** Problems of URLs that credentials are sent to, or whose answers are trusted, by their keys. */
export function checkHttps(urls: Record<string, string | undefined>): OptionProblem[] {
  return Object.entries(urls)
    .filter(([, url]) => url !== undefined && !isSecure(url))
    .map(([key]) => ({ key, message: "must begin with https:// unless it is on this machine" }));
}

function isSecure(url: string): boolean {
  const { protocol, hostname } = URL.parse(url) ?? {};
  return protocol === "https:" || (hostname !== undefined && isLoopback(hostname));
}
