import { HTTP_URL, NON_BLANK } from "../../../core/shared/json.ts";
import { ALLOWANCES } from "./neutralize.ts";

/** The options of a channel that writes comments in Markdown: the descriptions of its credential and its address. */
export function commentOptions(token: string, baseUrl: string) {
  return {
    token: { ...NON_BLANK, description: token },
    ...ALLOWANCES,
    baseUrl: { ...HTTP_URL, description: baseUrl },
  } as const;
}
