/** The contract suites that the built-in drivers pass, for the tests of your own drivers. */
export { type AgentUnderTest, describeAgent, describeRemoteAgent, type RemoteAgentUnderTest, turnOf } from "./agent.ts";
export {
  type ChannelUnderTest,
  describeChannel,
  describeRemoteChannel,
  type RemoteChannelUnderTest,
} from "./channel.ts";
export { type Fault, type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
export type { TestRunner } from "./harness.ts";
export { describeMailSource, type MailSourceUnderTest } from "./mail.ts";
