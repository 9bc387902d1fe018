/** The agent was lost while it was asked. The message is what it had written to standard error; may be empty. */
export class AcpLoss extends Error {
  override name = "AcpLoss";
}
