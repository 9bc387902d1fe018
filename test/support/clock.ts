/** `NODE_OPTIONS` for a process whose clock is that many milliseconds ahead. */
export function withClock(aheadMs: number): { NODE_OPTIONS: string } {
  const code = `
    const { now } = Date;
    globalThis.Date = class extends Date {
      constructor(...parts) { if (parts.length > 0) super(...parts); else super(now() + ${aheadMs}); }
      static now() { return now() + ${aheadMs}; }
    };`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` };
}
