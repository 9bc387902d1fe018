const WARM_UP = 0.3;
const SLICES = 10;

/** Microseconds per call, sequentially: the fastest of ten slices, since other programs may use the machine. */
export function timeCalls(calls: number, call: () => unknown): number {
  const slice = calls / SLICES;
  const times = Array.from({ length: SLICES }, () => {
    const startedAt = performance.now();
    for (let count = 0; count < slice; count += 1) call();
    return performance.now() - startedAt;
  });
  return (Math.min(...times) * 1000) / slice;
}

/** Microseconds per call, with this many in flight. */
export async function timeInFlight(calls: number, inFlight: number, call: () => Promise<unknown>): Promise<number> {
  await callAll(calls * WARM_UP, inFlight, call);
  const startedAt = performance.now();
  await callAll(calls, inFlight, call);
  return ((performance.now() - startedAt) * 1000) / calls;
}

async function callAll(calls: number, inFlight: number, call: () => Promise<unknown>): Promise<void> {
  let left = calls;
  const callers = Array.from({ length: inFlight }, async () => {
    while (left-- > 0) await call();
  });
  await Promise.all(callers);
}
