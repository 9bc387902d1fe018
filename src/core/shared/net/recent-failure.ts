/** Somebody else's server has just failed, so it was not asked again. */
export class RecentFailure extends Error {
  override name = "RecentFailure";
}

const REMEMBERED_MS = 30_000;

/**
 * Work that all callers share while it runs. After a failure it is not tried again for half a minute: the requests of a
 * stranger must not become requests to another server. Meanwhile it rejects with a `RecentFailure`.
 */
export function rememberFailure<Result>(
  work: () => Promise<Result>,
  now: () => number = () => performance.now(),
): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  let failed: { at: number; error: unknown } | undefined;
  return async () => {
    if (failed && now() - failed.at < REMEMBERED_MS) {
      throw new RecentFailure("it has just failed", { cause: failed.error });
    }
    running ??= work()
      .then(
        (result) => {
          failed = undefined;
          return result;
        },
        (error: unknown) => {
          failed = { at: now(), error };
          throw error;
        },
      )
      .finally(() => (running = undefined));
    return running;
  };
}
