// Calls that need a recent proof of who uses the session: request.ts asks here, the dialog of shell/proof-dialog.tsx answers, and the
// call is then repeated. The page of the mailed link tells the dialog's tab that it is done.
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import { callApi } from './request.ts';

const channelName = 'underpass-proof';

/** Opened in the session that asked for it, the link's token renews the proof. */
export async function redeemProof(token: string): Promise<void> {
  await callApi(sessionCalls.redeemProof, { payload: { token } });
  const channel = new BroadcastChannel(channelName);
  channel.postMessage('proven');
  channel.close();
}

/** Calls back when a tab of this browser has redeemed a link. */
export function onProven(listener: () => void): () => void {
  const channel = new BroadcastChannel(channelName);
  channel.onmessage = listener;
  return () => channel.close();
}
