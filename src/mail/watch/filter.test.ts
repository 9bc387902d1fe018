import { expect, test } from "vitest";
import { toMail } from "../../../test/support/mailbox.ts";
import { DEFAULTS } from "../../config/defaults.ts";
import type { MailSettings } from "../../config/resolved.ts";
import type { Mail, MailMarks } from "../port.ts";
import { createFilter } from "./filter.ts";

type Filter = Partial<MailSettings["filter"]>;

test.each<[string, Filter, Partial<Mail>, boolean]>([
  ["anyone may send", {}, {}, true],
  ["an address that may", { senders: ["Ann@Example.com"] }, {}, true],
  ["a domain that may", { senders: ["bob@example.org", "@example.com"] }, {}, true],
  ["another address", { senders: ["bob@example.com"] }, {}, false],
  ["a domain that ends alike", { senders: ["@example.com"] }, { sender: "ann@evil-example.com" }, false],
  ["a domain below", { senders: ["@example.com"] }, { sender: "ann@mail.example.com" }, false],
  [
    "an address within an address",
    { senders: ["@example.com"] },
    { sender: '"ann@example.com"@evil.org' },
    false,
  ],
  ["no sender", { senders: ["@example.com"] }, { sender: "" }, false],
  ["one of the labels", { labels: ["a", "b"] }, { labels: ["x", "b"] }, true],
  ["none of the labels", { labels: ["a"] }, { labels: ["A"] }, false],
  ["dmarc passed", { dmarc: "pass" }, { authentication: { dmarc: "PASS" } }, true],
  ["dmarc failed", { dmarc: "pass" }, { authentication: { dmarc: "fail" } }, false],
  ["dmarc is not known", { dmarc: "pass" }, {}, false],
  ["one's own", {}, { sender: "me@example.com" }, false],
  ["one's own, wanted", { own: true }, { sender: "me@example.com" }, true],
])("%s", (_, filter, mail, wanted) => {
  expect(isWanted(filter, mail)).toBe(wanted);
});

test.each<[keyof MailMarks, Filter]>([
  ["spam", { spam: true }],
  ["trash", { trash: true }],
  ["draft", { drafts: true }],
])("%s, unless it is wanted", (mark, filter) => {
  expect(isWanted({}, {}, { [mark]: true })).toBe(false);
  expect(isWanted(filter, {}, { [mark]: true })).toBe(true);
});

function isWanted(filter: Filter, mail: Partial<Mail>, marks: Partial<MailMarks> = {}): boolean {
  const settings = { ...DEFAULTS.hooks.mail.filter, ...filter };
  return createFilter(settings, ["me@example.com"])({
    mail: { ...toMail("1"), ...mail },
    marks: { spam: false, trash: false, draft: false, ...marks },
  });
}
