import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { inflate, parseCodings } from "./body.ts";

const BODY = Buffer.from('{"text":"hello"}');
const LIMIT = 1000;

async function undo(contentEncoding: string, body: Buffer) {
  return inflate(body, parseCodings({ "content-encoding": contentEncoding }), LIMIT);
}

test.each([
  ["gzip", gzipSync(BODY)],
  ["X-GZIP", gzipSync(BODY)],
  ["deflate", deflateSync(BODY)],
  ["deflate", deflateRawSync(BODY)],
  ["br", brotliCompressSync(BODY)],
  ["identity", BODY],
  ["", BODY],
  ["gzip, br", brotliCompressSync(gzipSync(BODY))],
  ["deflate,identity , gzip", gzipSync(deflateSync(BODY))],
])("decompresses %s", async (contentEncoding, body) => {
  expect(await undo(contentEncoding, body)).toEqual(BODY);
});

test.each(["compress", "zstd", "gzip, lzma", "gzip;q=1", "gzip, gzip, gzip, gzip"])(
  "the encoding %s is not supported",
  (contentEncoding) => {
    expect(() => parseCodings({ "content-encoding": contentEncoding })).toThrow(
      expect.objectContaining({ status: 415, code: "unsupported_encoding" }),
    );
  },
);

describe("a body that does not match its encoding is refused", () => {
  test.each([
    ["gzip", BODY],
    ["gzip", gzipSync(BODY).subarray(0, -6)],
    ["gzip", Buffer.alloc(0)],
    ["br", BODY],
    ["deflate", Buffer.from([0x78])],
    ["gzip, br", brotliCompressSync(BODY)],
  ])("%s", async (contentEncoding, body) => {
    await expect(undo(contentEncoding, body)).rejects.toMatchObject({
      status: 400,
      code: "invalid_encoding",
    });
  });
});

describe("the limit counts after decompression", () => {
  const fits = Buffer.alloc(LIMIT, "a");
  const tooLarge = Buffer.alloc(LIMIT + 1, "a");

  test.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ])("%s", async (coding, compress) => {
    expect(await undo(coding, compress(fits))).toHaveLength(LIMIT);
    await expect(undo(coding, compress(tooLarge))).rejects.toMatchObject({
      status: 413,
      code: "body_too_large",
    });
  });

  test("in every layer", async () => {
    const bomb = gzipSync(gzipSync(Buffer.alloc(100_000_000)));
    expect(bomb.length).toBeLessThan(LIMIT);
    await expect(undo("gzip, gzip", bomb)).rejects.toMatchObject({ status: 413 });
  });
});
