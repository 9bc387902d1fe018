import { expect, test } from "vitest";
import { readAuthentication } from "./authentication.ts";

const read = (results: string[], authservId?: string, receivedSpf = "") =>
  readAuthentication({ results, receivedSpf }, authservId);

const GOOGLE =
  "mx.google.com;\r\n       dkim=pass header.i=@example.com header.s=s1 header.b=abc;" +
  " spf=pass (google.com: domain of a@example.com designates 192.0.2.1 as permitted sender) smtp.mailfrom=a@example.com;" +
  " dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=example.com";
const FORGED = "evil.example; spf=pass; dkim=pass; dmarc=pass";

test("the topmost header counts", () => {
  expect(read([GOOGLE, FORGED])).toEqual({
    server: "mx.google.com",
    spf: "pass",
    dkim: "pass",
    dmarc: "pass",
    forgeable: true,
  });
  expect(read(["mx.example; spf=fail", FORGED])).toEqual({ server: "mx.example", spf: "fail", forgeable: true });
});

test("only the given server counts, case-insensitive", () => {
  expect(read([FORGED, "MX.example; spf=softfail"], "mx.Example")).toEqual({
    server: "mx.example",
    spf: "softfail",
  });
  expect(read([FORGED], "mx.example")).toEqual({});
  expect(read(["mx.example.evil.example; spf=pass"], "mx.example")).toEqual({});
});

test("a server may write a header for each method; the topmost one with a method counts", () => {
  const headers = ["mx.example; dkim=fail", "mx.example; dmarc=fail", "mx.example; dkim=pass; spf=pass"];
  expect(read(headers)).toEqual({
    server: "mx.example",
    dkim: "fail",
    dmarc: "fail",
    spf: "pass",
    forgeable: true,
  });
});

test("one valid signature is enough", () => {
  expect(read(["mx.example; dkim=fail (bad) header.d=a; dkim=pass header.d=b"])).toMatchObject({
    dkim: "pass",
  });
  expect(read(["mx.example; dkim=neutral; dkim=fail"])).toMatchObject({ dkim: "neutral" });
});

test.each([
  ["comments", "mx.example (a; (nested; spf=pass)) ; spf=fail (x; spf=pass)", "fail"],
  ["an escape in a comment", "mx.example (a\\); spf=pass); spf=fail", "fail"],
  ["quoted strings", 'mx.example; x=y reason="; spf=pass"; spf=fail', "fail"],
  ["an escape in a quoted string", 'mx.example; x=y reason="a\\"; spf=pass; "; spf=fail', "fail"],
  ["a version of the server's", "mx.example 1; spf=pass", "pass"],
  ["a version of the method's", "mx.example; spf/1 = PASS smtp.mailfrom=a", "pass"],
  ["spaces", "mx.example ;\r\n\tspf  =  pass", "pass"],
  ["none", "mx.example; none", undefined],
  ["a comment without end", "mx.example (oh; spf=pass", undefined],
  ["a quoted string without end", 'mx.example; x="; spf=pass', undefined],
  ["nothing", "", undefined],
  ["a result that is none", "mx.example; spf=pass1", undefined],
])("%s", (_, header, spf) => {
  expect(read([header]).spf).toBe(spf);
});

test("a server name may be quoted", () => {
  expect(read(['"mx.example"; spf=pass'], "mx.example")).toEqual({ server: "mx.example", spf: "pass" });
});

test("Exchange Online names no server", () => {
  const header =
    "spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=example.com; dkim=none (message not signed) header.d=none;dmarc=bestguesspass action=none header.from=example.com;compauth=pass reason=109";
  expect(read([header])).toEqual({ spf: "pass", dkim: "none", dmarc: "bestguesspass", forgeable: true });
  expect(read([header], "mx.example")).toEqual({});
});

test("Received-SPF counts if there is nothing else", () => {
  const spf = "Pass (mx.example: domain of a@example.com designates 192.0.2.1) client-ip=192.0.2.1;";
  expect(read([], undefined, spf)).toEqual({ spf: "pass", forgeable: true });
  expect(read([], "mx.example", spf)).toEqual({});
  expect(read(["mx.example; none"], undefined, spf)).toEqual({ server: "mx.example", forgeable: true });
});
