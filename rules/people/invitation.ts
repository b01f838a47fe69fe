// Why the link of an invitation opens nothing, as its page says it.

export const invitationRefusals = {
  otherAddress: 'This invitation is for another email address.',
  used: 'This invitation has been used already.',
  left: 'You have used this invitation, and are no longer a member of its project.',
  expired: 'This invitation has expired.',
  unknown: 'This invitation was withdrawn or replaced by a newer one, expired some time ago, or its link is not complete.',
} as const;

export type InvitationRefusal = keyof typeof invitationRefusals;
