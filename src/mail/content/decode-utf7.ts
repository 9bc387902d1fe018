/** Text in UTF-7 (RFC 2152), which neither the runtime nor the library knows, and which old mails are in. */
export function decodeUtf7(text: string): string {
  return text.replaceAll(/\+([A-Za-z0-9+/]*)-?/g, (_, content: string) =>
    content ? decodeRun(content) : "+",
  );
}

/** Whether a header or a body speaks of it. */
export function isUtf7(text: string): boolean {
  return /(?:=\?|charset\s*=\s*["']?)(?:x-|unicode-1-1-)?utf-7\b/i.test(text);
}

function decodeRun(content: string): string {
  const bytes = Buffer.from(content, "base64");
  return new TextDecoder("utf-16be").decode(bytes.subarray(0, bytes.length - (bytes.length % 2)));
}
