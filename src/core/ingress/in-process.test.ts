import { expect, test } from "vitest";
import { handleInProcess } from "./in-process.ts";

test("a request that is aborted before its answer rejects", async () => {
  const abort = new AbortController();
  const request = new Request("http://127.0.0.1/hooks/x", {
    method: "POST",
    body: "{}",
    signal: abort.signal,
  });
  const handled = handleInProcess(
    request,
    () => new Promise(() => {}),
    () => "192.0.2.1",
  );
  abort.abort(new Error("enough"));
  await expect(handled).rejects.toThrow("enough");
});
