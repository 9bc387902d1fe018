import { DriverError } from "../../core/errors.ts";
import type { OpenCall } from "../../core/ports/open-tool-sets.ts";
import type { RepositoryHost } from "../../core/ports/repository.ts";
import { toError } from "../../core/ports/tool-set.ts";
import { channelKind } from "../../core/shared/channel-names.ts";
import { hashJson } from "../../core/shared/hash.ts";
import { NotPublished, publishChange } from "./publish.ts";

interface ChangeCallOptions {
  host: RepositoryHost;
  /** The folder of all mirrors. */
  mirrors: string;
  tempDir: string;
  /** Changes of the account are recorded instead of sent. */
  dryRun: boolean;
}

const TEXT = { type: "string" };
const TEXTS = { type: "array", items: TEXT };

/** Arguments of the call, which the service fills in. */
const INPUT = {
  type: "object",
  properties: {
    repository: TEXT,
    base: TEXT,
    branch: TEXT,
    commit: TEXT,
    title: TEXT,
    files: TEXTS,
    protected: TEXTS,
  },
  required: ["repository", "base", "branch", "commit", "title", "files", "protected"],
  additionalProperties: false,
};

/** A fetch of the base may come first. */
const TIMEOUT_MS = 900_000;

/** The call that pushes the files of a workspace at an account to a branch, and makes its pull request. */
export function createChangeCall(account: string, { dryRun, ...options }: ChangeCallOptions): OpenCall {
  const service = channelKind(account);
  return {
    fullName: `${service}.change`,
    modelName: `${service}__change`,
    name: "change",
    description: "Pushes what the agent has changed to its branch, and makes a draft pull request if there is none.",
    input: INPUT,
    audience: "public",
    dryRun,
    timeoutMs: TIMEOUT_MS,
    digest: hashJson([account, INPUT]),
    unchecked: new Set(),
    check: () => [],
    checkSome: () => [],
    async call(_args, { signal, callId, change, sign }) {
      if (!change) return toError("there is no change to publish");
      const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      try {
        const {
          to,
          url,
          branch,
          warnings = [],
        } = await publishChange(change, {
          ...options,
          idempotencyKey: callId,
          sign,
          signal: limited,
        });
        const text = [url, ...warnings].join("\n");
        return { text, isError: false, published: { to, url, branch } };
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof NotPublished) return toError(`Not published: ${error.message}.`);
        // Another attempt would be refused in the same way.
        if (error instanceof DriverError && !error.retryable) return toError(`Not published: ${error.message}`);
        throw error;
      }
    },
  };
}
