import type { MailBatch } from "../port.ts";
import type { Position } from "./position.ts";

/** A batch whose position is not text yet. */
export interface Step extends Omit<MailBatch, "position"> {
  position: Position;
}
