// The privacy policy (spec 2, Legal pages): a UK controller; contact information, tunnel configuration and logs.
// Retention and the facts about cookies and traffic describe what this software does: change both together.

import { durations, retentionDays } from '@underpass/rules/limits.ts';
import type { OperatorIdentity } from '@underpass/rules/resource.ts';
import { type LegalDocument, type LegalSection, renderOperatorIdentity } from './legal-document.ts';

export function privacyPolicy(operator: OperatorIdentity): LegalDocument {
  return {
    title: 'Privacy policy',
    updated: '2026-11-21',
    summary:
      'We collect what we need to run tunnels for you: contact information, tunnel configuration and logs. We do not sell it, we do not show advertising, and we do not look inside your traffic.',
    sections: [
      whoWeAre(operator),
      scope,
      whatWeCollect,
      whatWeDoNotCollect,
      sources,
      purposes,
      traffic,
      cookies,
      sharing(operator),
      transfers,
      retention,
      security,
      yourRights(operator),
      complaints(operator),
      automatedDecisions,
      children(operator),
      changes,
      contact(operator),
    ],
  };
}

function whoWeAre(operator: OperatorIdentity): LegalSection {
  return {
    id: 'who-we-are',
    title: 'Who we are',
    blocks: [
      `Underpass is operated by ${renderOperatorIdentity(operator)}. In this policy "we", "us" and "our" mean ${operator.name}, and "Underpass" means the hosted tunnel service, its dashboard, its API and its command line client.`,
      `We are the controller of the personal data described here, except where section 7 says that we act as a processor. You can reach us about anything in this policy at ${operator.email}.`,
      'This policy is written to meet the UK General Data Protection Regulation (UK GDPR), the Data Protection Act 2018 and the Privacy and Electronic Communications Regulations 2003. Where the EU General Data Protection Regulation applies to you, you have the same rights under it.',
    ],
  };
}

const scope: LegalSection = {
  id: 'scope',
  title: 'Who this policy is for',
  blocks: [
    {
      intro: 'It applies to:',
      items: [
        'people who register for Underpass, use an account, or are invited to a project;',
        'people who browse our public pages, or report abuse to us;',
        'people who visit an address that one of our users publishes through a tunnel ("visitors"). Section 7 explains how little of their data we handle, and for whom.',
      ],
    },
    'What our users run behind their tunnels is theirs. Their own privacy notices, not this one, tell you what they do with your data.',
  ],
};

const whatWeCollect: LegalSection = {
  id: 'what-we-collect',
  title: 'The data we collect',
  blocks: [
    'We collect three kinds of data.',
    {
      intro: 'Contact information:',
      items: [
        'your first name, last name and e-mail address;',
        'if you choose to give them, your company and the names of your GitHub and X accounts;',
        'the e-mail address of a person whom you invite to a project;',
        'what you write to us, for example when you ask for support or report abuse;',
        'whether your e-mail address matches an active subscription, and the state of that subscription.',
      ],
    },
    {
      intro: 'Tunnel configuration:',
      items: [
        'your projects, their members and the role of each member;',
        'the domains that you add and the DNS challenges made for them;',
        'your tunnels: name, type, region, ingress domains, PROXY protocol, security group and token (kept encrypted);',
        'your security groups, which may hold IP addresses that belong to individuals;',
        'certificates and their keys, for tunnels whose TLS we terminate (keys are kept encrypted);',
        'API tokens and sign-in sessions, of which we keep only a one-way hash of the secret, with their names and times of use.',
      ],
    },
    {
      intro: 'Logs:',
      items: [
        'an audit log of what was changed in a project: who, what, when and from which IP address;',
        'sign-in records: the time, IP address and browser or client of each session;',
        'connections of tunnel clients: the IP address, client version, and the times of connecting and disconnecting;',
        'technical logs of our servers: requests to the dashboard and API with their IP address, time, path, result and duration, and errors at our edges;',
        'measurements: bytes carried, connection rates and numbers of connected clients for each tunnel. These are totals for a tunnel; they do not identify visitors.',
      ],
    },
  ],
};

const whatWeDoNotCollect: LegalSection = {
  id: 'what-we-do-not-collect',
  title: 'The data we do not collect',
  blocks: [
    {
      items: [
        'We do not record the content of the traffic that passes through tunnels: no bodies, no headers, no cookies, no query strings.',
        'We do not keep passwords: there are none. You sign in with a link that we send to you.',
        'We do not hold card numbers. Subscriptions are paid for elsewhere, and we receive only whether they are active.',
        'We do not use advertising, cross-site tracking or analytics supplied by third parties.',
        'We do not ask for special category data (such as data about health, belief or biometrics). Please do not send it to us in names, descriptions or reports.',
      ],
    },
  ],
};

const sources: LegalSection = {
  id: 'sources',
  title: 'Where the data comes from',
  blocks: [
    'Most of it you give us yourself, when you register and when you use Underpass. Some of it is made by your use: logs and measurements. Subscription data comes from the company that sells the subscription. The e-mail address of an invited person comes from the project member who invites them.',
    'You need not give us anything. But without a name, an e-mail address and the acceptance of our terms we cannot make an account, and without tunnel configuration there is no tunnel.',
  ],
};

const purposes: LegalSection = {
  id: 'purposes',
  title: 'What we use it for, and our lawful bases',
  blocks: [
    {
      intro:
        'To perform our contract with you, or to take steps that you ask for before we make one (UK GDPR Article 6(1)(b)), we use it to:',
      items: [
        'decide on your registration, which includes matching your e-mail address against active subscriptions;',
        'sign you in, and send the links and service messages that this needs;',
        'run your tunnels: verify domains, obtain certificates, apply allow-lists and connect your clients;',
        'show you metrics, connected clients and the audit log of your projects;',
        'answer your questions.',
      ],
    },
    {
      intro: 'For our legitimate interests (Article 6(1)(f)), balanced against yours, we use it to:',
      items: [
        'keep the service secure, and detect and stop abuse, fraud and attacks;',
        'find faults, measure load and plan capacity;',
        'learn from the closed preview what to improve, from totals rather than from individuals wherever that is enough;',
        'establish, exercise or defend legal claims.',
      ],
    },
    {
      intro: 'To meet a legal obligation (Article 6(1)(c)), we use it to:',
      items: [
        'answer binding requests from courts and authorities;',
        'handle reports of unlawful content;',
        'keep the records that company, tax and data protection law require.',
      ],
    },
    'Where we rely on legitimate interests you may object, as section 13 explains. We do not send marketing without your consent. If you give consent you may withdraw it at any time, and this does not affect what was done before.',
  ],
};

const traffic: LegalSection = {
  id: 'traffic',
  title: 'Traffic through tunnels',
  blocks: [
    'Traffic through a tunnel belongs to the user who runs it. For personal data inside that traffic the user is the controller and we are their processor; the data processing terms at the end of our terms of service apply.',
    'For an ingress tunnel we pass encrypted bytes on without decrypting them. We read only the server name that opens the connection (or the Host header on port 80), because it tells us which tunnel to use.',
    'For an http tunnel we end TLS at our edge. The request is in our memory, in clear, for as long as it takes to pass it to the client over another encrypted connection. It is not written to disk and nobody reads it.',
    "For both kinds we handle the visitor's IP address: to compare it with the allow-list, to limit floods, and to pass it to the tunnel's user in the PROXY protocol or in forwarding headers. When a connection is refused or fails, our technical logs may hold that address for the short time given in section 11. We are the controller of those logs, for the security of the service.",
  ],
};

const cookies: LegalSection = {
  id: 'cookies',
  title: 'Cookies and storage in your browser',
  blocks: [
    {
      intro: 'We use only what is strictly necessary, so there is no cookie banner:',
      items: [
        'a session cookie, which keeps you signed in. It cannot be read by scripts, goes only to our own site, and ends when you log out or the session expires;',
        'a short-lived cookie set when you ask for a sign-in link, so that the link can complete by itself in the browser that asked for it and in no other;',
        'local storage entries in which the dashboard remembers the selected project and your choice of light or dark theme. They never leave your browser.',
      ],
    },
    'The sign-in, registration and abuse report forms check that you are human. By default this is a small calculation in your browser, served by us, with no cookies and no third party. A deployment may use Cloudflare Turnstile in its place; the form then shows it, and Cloudflare receives your IP address and technical data about your browser to tell people from robots.',
  ],
};

function sharing(operator: OperatorIdentity): LegalSection {
  return {
    id: 'sharing',
    title: 'Who receives it',
    blocks: [
      'We do not sell personal data, and we do not share it for anybody else to advertise with.',
      {
        intro: 'It is received by:',
        items: [
          'the other members of your projects, who see your name or e-mail address, your role and what you changed;',
          'our hosting, network and e-mail delivery providers, who process it for us under written contracts and only on our instructions;',
          'the seller of your subscription, who is asked whether the e-mail address with which you register has an active subscription;',
          'certificate authorities, who receive the domain names for which a certificate is issued. Names in certificates are published in public transparency logs;',
          'courts, regulators and law enforcement, where the law obliges us or where it is necessary to protect somebody from serious harm. We check each request, give no more than it requires, and tell you unless we are forbidden to;',
          `a buyer or successor, if ${operator.name} or the service is sold or merged. The data stays under this policy, and we tell you before another one applies.`,
        ],
      },
      `Ask at ${operator.email} for the current list of our processors.`,
    ],
  };
}

const transfers: LegalSection = {
  id: 'transfers',
  title: 'Transfers to other countries',
  blocks: [
    'We keep accounts, configuration and logs in the United Kingdom or the European Economic Area. A tunnel runs in the region that you choose for it: its configuration and traffic are handled where that region is, and the dashboard names it.',
    'Where a provider handles personal data in a country that UK law does not regard as adequate, we rely on the International Data Transfer Agreement or the UK Addendum to the EU standard contractual clauses, after an assessment of the risk. You may ask us for a copy.',
  ],
};

const retention: LegalSection = {
  id: 'retention',
  title: 'How long we keep it',
  blocks: [
    {
      items: [
        `Registrations that were not approved: ${retentionDays.registration} days.`,
        'Accounts, projects and tunnel configuration: while the account exists. After you close it they are deleted within 30 days.',
        `A deleted tunnel, domain, security group or token: removed from the live service at once. A released generated name is held back for ${durations.generatedNameRestDays} days, without your details, so that nobody else receives your traffic.`,
        `Sign-in links: ${durations.loginLinkMinutes} minutes. Sessions: until you log out, or ${durations.sessionIdleDays} days after their last use.`,
        `Audit log: ${retentionDays.auditLog} days.`,
        'Technical logs that hold IP addresses: up to 30 days, or longer where a particular record is needed to investigate an incident or a legal claim.',
        'Measurements of tunnels: up to 8 days.',
        `Abuse reports and correspondence: ${retentionDays.closedAbuseReport} days, or until the matter is closed if that takes longer.`,
        'Backups: overwritten within 35 days.',
        'Records that the law obliges us to keep, such as accounts: as long as it says, usually six years.',
      ],
    },
    'When a period ends, the data is deleted or made anonymous.',
  ],
};

const security: LegalSection = {
  id: 'security',
  title: 'How we protect it',
  blocks: [
    'Data is encrypted on its way to us and between our servers. Tunnel tokens and certificate keys are encrypted where they are stored; sign-in links, sessions and API tokens are stored as hashes. Access is limited to the people who need it, each role sees only what it may, and changes are recorded.',
    'No service is perfectly secure. If a breach of personal data is likely to put you at risk, we will tell you without undue delay, and the Information Commissioner within 72 hours of becoming aware of it.',
  ],
};

function yourRights(operator: OperatorIdentity): LegalSection {
  return {
    id: 'your-rights',
    title: 'Your rights',
    blocks: [
      {
        intro: 'Under data protection law you may ask us to:',
        items: [
          'tell you whether we hold data about you, and give you a copy of it (access);',
          'correct what is wrong and complete what is missing (rectification);',
          'delete it (erasure), unless we need it for a legal obligation or a legal claim;',
          'stop using it, other than to store it, while a question about it is settled (restriction);',
          'give the data that you provided to you or to another service in a machine-readable form (portability). Your audit log can be exported in the dashboard at any time;',
          'stop what we do on the ground of legitimate interests, for reasons that come from your own situation (objection);',
          'act no longer on a consent that you gave.',
        ],
      },
      'You can delete your account yourself, on the page "Account" of the dashboard. It takes effect at once: your name, address, sessions and tokens are erased, projects that nobody else is in are deleted, and the audit logs of other projects keep what was done without who did it.',
      `For anything else, write to ${operator.email} from the address of your account. It costs nothing. We may need to be sure that it is you, and we answer within one month; where a request is complex we may take up to two months more, and we tell you so within the first.`,
      'If you are a visitor of a tunnel, please ask the user who publishes the address first: we can seldom tell which data is yours, and we help our users to answer you.',
    ],
  };
}

function complaints(operator: OperatorIdentity): LegalSection {
  return {
    id: 'complaints',
    title: 'Complaints',
    blocks: [
      `If you are unhappy with how we handle your data, tell us at ${operator.email} and we will try to put it right. We acknowledge a complaint within 30 days.`,
      "You may also complain to the Information Commissioner's Office, Wycliffe House, Water Lane, Wilmslow, Cheshire SK9 5AF, telephone 0303 123 1113, https://ico.org.uk/make-a-complaint. If you live in the European Economic Area, you may complain to the authority of the country where you live or work.",
    ],
  };
}

const automatedDecisions: LegalSection = {
  id: 'automated-decisions',
  title: 'Automated decisions',
  blocks: [
    'Rate limits, allow-lists and the human check work by themselves. No decision that has a legal or similarly significant effect on you is made by a machine alone: a person decides on registrations and on suspensions that last.',
  ],
};

function children(operator: OperatorIdentity): LegalSection {
  return {
    id: 'children',
    title: 'Children',
    blocks: [
      `Underpass is for people aged 18 or older, and we do not knowingly collect data about anybody younger. If you believe that a child has registered, tell us at ${operator.email} and we will close the account and delete its data.`,
    ],
  };
}

const changes: LegalSection = {
  id: 'changes',
  title: 'Changes to this policy',
  blocks: [
    'When we change this policy we publish the new text here with its date. If a change matters to you, we tell account holders by e-mail at least 30 days before it takes effect, unless the law requires it sooner.',
  ],
};

function contact(operator: OperatorIdentity): LegalSection {
  return {
    id: 'contact',
    title: 'Contact',
    blocks: [operator.address ? `${operator.name}, ${operator.address}.` : `${operator.name}.`, `E-mail: ${operator.email}.`],
  };
}
