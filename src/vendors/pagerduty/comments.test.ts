import { expect } from "vitest";
import { describeComments, TOKEN } from "../../../test/support/comment-suite.ts";
import { shownText } from "../../../test/support/comments.ts";
import { pagerduty } from "../../../test/support/comment-services.ts";
import { createPagerduty } from "./comments.ts";

describeComments("pagerduty", {
  service: pagerduty,
  open: (baseUrl) => createPagerduty({ token: TOKEN, from: "agent@acme.test", baseUrl }),
  to: "Q02JTSNZWHSEKV",
  unknown: "Q0000000000000",
  malformed: ["", "q02", "Q02/../x", "Q02JTSNZWHSEKV/notes"],
  // The groups of a chat stay apart from plain words.
  toText: (stored) => shownText(stored.replaceAll("@\u200Beveryone", "@ everyone")),
  raw: expect.stringMatching(/^\u2063\u2063[\u200B-\u200D\u2060]{32}Hello @\u200Bada\.$/),
});
