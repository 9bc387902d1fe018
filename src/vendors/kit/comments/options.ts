import { HTTP_URL, NON_BLANK } from "../../../core/shared/json.ts";
import { ALLOWANCES } from "./neutralize.ts";

type Described<Schema> = Schema & { readonly description: string };

type CommentOptions = typeof ALLOWANCES & {
  readonly token: Described<typeof NON_BLANK>;
  readonly baseUrl: Described<typeof HTTP_URL>;
};

/** The options of a channel that writes comments in Markdown: the descriptions of its credential and its address. */
export function commentOptions(token: string, baseUrl: string): CommentOptions {
  return {
    token: { ...NON_BLANK, description: token },
    ...ALLOWANCES,
    baseUrl: { ...HTTP_URL, description: baseUrl },
  };
}
