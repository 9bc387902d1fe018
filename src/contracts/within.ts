/** What the promise resolves to; rejects with an `Error` of the given words where that takes longer. */
export async function within<Result>(
  milliseconds: number,
  promise: Promise<Result>,
  words: string,
): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(words)), milliseconds);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
