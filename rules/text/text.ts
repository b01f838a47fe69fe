// Sentences of the spec that belong to no rule: section 2's shared screens and section 8's catalogue.
// A text of one rule (a validation message, a status) is in that rule's file; a button's word is in its component.

export const productName = 'Underpass';

export const text = {
  home: {
    welcome: (firstName: string) => (firstName === '' ? 'Dashboard' : `Welcome ${firstName}`),
    project: (name: string) => `Project: ${name}`,
  },
  login: {
    sent: (email: string) => `We have sent an email with a login link to ${email}`,
    failedTitle: 'Login failed',
    failed: 'Login link is invalid or has expired. Sign in to get a new link.',
    failedLog: 'Login failed try again',
  },
  register: {
    doneTitle: 'Registration successful.',
    done: `You will receive an email with login details once you have been approved for the ${productName} cloud preview.`,
  },
  domains: { emptyTitle: 'No Domains', empty: 'Register a new domain.' },
  tunnels: {
    title: 'Tunnels',
    subtitle: 'Tunnels connect your applications to the Internet.',
    emptyTitle: 'No Tunnels',
    empty: 'Get started by creating a tunnel.',
    add: 'Add Tunnel',
    newTitle: 'New Tunnel',
    newText: 'Get started by filling in the information below to create a new tunnel.',
    noIngressDomains: 'No ingress domains',
    deleteTitle: 'Delete Tunnel',
    deleteWarning:
      'Warning! Deleting this tunnel will disconnect all clients and interrupt all network traffic. This operation is permanent.',
  },
  groups: {
    emptyTitle: 'No Security Groups',
    empty: 'You have no security groups created yet.',
    add: 'Add Security Group',
    newTitle: 'New Security Group',
    assigned: (count: number) => `Assigned to ${count} Tunnels`,
    deleteTitle: 'Delete Security Group',
    deleteWarning: 'Warning! This operation is permanent.',
  },
  notFound: { title: 'Page not found.', text: "Sorry, we couldn't find the page you're looking for." },
  error: {
    title: 'Something went wrong.',
    fallback: 'Please try again.',
    retry: 'Try Again',
    uncaught: 'Unexpected Application Error!',
    metrics: 'Failed to get metrics.',
  },
} as const;

/** How the catalogue shows what a call answered (spec 8, Domain delete and Create tunnel failure). */
export function capitaliseFirst(sentence: string): string {
  const [first = ''] = sentence;
  return first.toUpperCase() + sentence.slice(first.length);
}
