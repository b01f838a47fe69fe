// The terms of service (spec 2, Legal pages; spec 9): England and Wales, 18 or older, the liability cap,
// the closed preview and its subscription. The data processing terms of UK GDPR Article 28 close the text.

import type { OperatorIdentity } from '@underpass/rules/resource.ts';
import { type LegalDocument, type LegalSection, renderOperatorIdentity } from './legal-document.ts';

export function termsOfService(operator: OperatorIdentity): LegalDocument {
  return {
    title: 'Terms of service',
    updated: '2026-11-20',
    summary:
      'These are the rules for using Underpass during its closed preview. Use it lawfully, expose only what you may expose, keep your tokens secret, and do not rely on it for anything where a failure would put people in danger.',
    sections: [
      agreement(operator),
      definitions(operator),
      closedPreview,
      eligibility,
      account(operator),
      theService,
      yourResponsibilities,
      acceptableUse,
      domains,
      abuse(operator),
      yourContent,
      dataProtection,
      software(operator),
      feesAndSubscription,
      availability,
      suspension,
      termination,
      intellectualProperty(operator),
      confidentiality,
      warranties,
      liability,
      indemnity,
      consumers,
      sanctions,
      eventsBeyondControl,
      changesToTerms,
      general,
      governingLaw,
      notices(operator),
      dataProcessingTerms,
    ],
  };
}

function agreement(operator: OperatorIdentity): LegalSection {
  return {
    id: 'agreement',
    title: 'This agreement',
    blocks: [
      `These terms are a contract between you and ${renderOperatorIdentity(operator)}. They govern your use of Underpass. By ticking the box on the registration form, by accepting an invitation to a project, or by using the service, you accept them. If you do not accept them, do not use the service.`,
      'If you use Underpass for a company or another organisation, you accept these terms for it, you confirm that you have the authority to do so, and "you" means that organisation as well as yourself.',
      'Our privacy policy explains how we use personal data. It is for information and is not part of this contract.',
    ],
  };
}

function definitions(operator: OperatorIdentity): LegalSection {
  return {
    id: 'definitions',
    title: 'What the words mean',
    blocks: [
      {
        items: [
          `"We", "us" and "our" mean ${operator.name}.`,
          '"Service" or "Underpass" means the hosted tunnel service, its dashboard, its API, its edges and its documentation.',
          '"Client" means the underpass command line program and its container image.',
          '"Tunnel" means a route that we operate from a public address to a program that you run.',
          '"Upstream" means the program at your end of a tunnel.',
          '"Visitor" means anybody who connects to the public address of a tunnel.',
          '"Project" means the space in which tunnels, domains and security groups are kept and members work together.',
          '"Your content" means everything that you, your members, your upstreams and your visitors send through the service, and the configuration that you enter.',
          '"Subscription" means an active subscription to the tunnel software with which Underpass is offered.',
        ],
      },
    ],
  };
}

const closedPreview: LegalSection = {
  id: 'closed-preview',
  title: 'The closed preview',
  blocks: [
    'Underpass is in a closed preview. We decide who takes part, and a registration is a request and not a right. We may ask for more information, and we may decline without giving a reason.',
    'A preview is unfinished. Features, limits, regions and addresses may change or disappear; there may be faults, interruptions and loss of configuration. Keep what you need to set your tunnels up again, and do not make the service the only way to something that you cannot do without.',
    'We may end the preview, for everybody or in part. We will give at least 30 days of notice by e-mail, unless security or the law leaves us no such time.',
  ],
};

const eligibility: LegalSection = {
  id: 'eligibility',
  title: 'Who may use Underpass',
  blocks: [
    {
      intro: 'You may use the service only if:',
      items: [
        'you are 18 or older and can make a binding contract;',
        'we have approved your registration, or a member of an approved project has invited you;',
        'the e-mail address with which you registered matches an active subscription, for as long as we require one;',
        'the law of your country and of the United Kingdom, sanctions included, does not forbid it.',
      ],
    },
  ],
};

function account(operator: OperatorIdentity): LegalSection {
  return {
    id: 'your-account',
    title: 'Your account',
    blocks: [
      'Give true and complete information when you register, and keep it up to date. An account is for one person; do not share it. Invite colleagues to your project in place of lending them your mailbox.',
      'You sign in with a one-time link sent to your e-mail address, so whoever reads your mail can sign in as you. Keep your mailbox, tunnel tokens and API tokens secret and secure. You are responsible for what is done with them until you tell us that they are no longer yours alone.',
      `If you believe that an account or a token is in the wrong hands, rotate the token or revoke the session in the dashboard at once and write to ${operator.email}.`,
      'The owner of a project decides who its members are and what they may do, and answers to us for their use of the service.',
    ],
  };
}

const theService: LegalSection = {
  id: 'the-service',
  title: 'What the service does',
  blocks: [
    'A tunnel carries connections from a public address to a client that you run, and so to your upstream. There are two types. For an http tunnel we terminate TLS at our edge and pass requests on. For an ingress tunnel we pass HTTPS through over TCP without decrypting it.',
    'While these terms last we grant you a personal, non-exclusive, non-transferable right to use the service within the limits that we publish or set for your project. There are limits to the numbers of tunnels, domains, security groups, rules and connections, to rates, and to traffic that disturbs others.',
    'Security groups restrict the source addresses from which a tunnel may be reached. They are one layer of protection. They do not authenticate people, and they are no substitute for securing your upstream.',
  ],
};

const yourResponsibilities: LegalSection = {
  id: 'your-responsibilities',
  title: 'Your responsibilities',
  blocks: [
    {
      intro: 'You agree to:',
      items: [
        'expose only services that you are entitled to expose, with the consent of whoever owns the network and the machine;',
        'secure your upstreams yourself: authentication, patches, and no more reach than they need;',
        'point DNS records at us only for names that you control;',
        'run a supported version of the client;',
        'make your own backups;',
        'give visitors whatever information and notices the law requires of you, and honour their rights;',
        'follow the rules of acceptable use, and see to it that your members do.',
      ],
    },
  ],
};

const acceptableUse: LegalSection = {
  id: 'acceptable-use',
  title: 'Acceptable use',
  blocks: [
    {
      intro: 'You must not use Underpass, or let anybody use it through you, to:',
      items: [
        'break the law, or help anybody to break it;',
        'publish or exchange content that sexually exploits or abuses children, that promotes terrorism, that incites violence or hatred, or that is otherwise unlawful;',
        'deceive: phishing, imitation of another person or brand, fraud, or false storefronts;',
        'distribute malware, or operate its command and control;',
        'send spam, or run an open mail relay, an open proxy or an exit for anonymous traffic;',
        'attack, scan, overload or gain access to any system without the permission of its owner, or get round the rules of a network on which you are a guest;',
        'infringe copyright, trade marks, privacy or other rights of others;',
        'mine crypto-currency, or distribute media at a volume that disturbs others;',
        'operate anything where a failure could lead to death, injury or serious damage, such as medical, nuclear, aviation or emergency systems;',
        'resell the service or offer it as your own without our written agreement.',
      ],
    },
    {
      intro: 'You must not:',
      items: [
        "attempt to reach other users' projects, tunnels or traffic, or to get round limits, allow-lists, suspensions or security measures;",
        'test the security of the service beyond your own projects, or in a way that harms others. Please report what you find: good-faith reports are welcome, and we will not take action over research that stays within these bounds;',
        'register more than once to escape a limit or a suspension;',
        'use generated domains of ours to suggest that we endorse what is published there.',
      ],
    },
  ],
};

const domains: LegalSection = {
  id: 'domains',
  title: 'Domains',
  blocks: [
    'You may add only domains that you own or are authorised to use. We check control of a domain by a DNS record, and check again from time to time. If the record disappears the domain may lose its verification, and tunnels that use it may stop.',
    'Adding a domain gives us permission to answer for it, to request certificates for its host names, and to renew them while a tunnel uses them.',
    'Generated domains under our own names are lent to you while the tunnel exists. You do not own them, you may not transfer them, and we may withdraw or change one to protect others. A name that you give up is not given to anybody else for 90 days.',
    'If two projects claim the same domain, it belongs to the one that proves control of its DNS. We may freeze a domain while a dispute is settled.',
  ],
};

function abuse(operator: OperatorIdentity): LegalSection {
  return {
    id: 'reporting-abuse',
    title: 'Reporting abuse',
    blocks: [
      `Anybody may report unlawful or harmful use of Underpass on the report abuse page or at ${operator.email}. Tell us the address, what is wrong with it and, for a claim about rights, whose rights they are. We look at each report, act in proportion, and tell the user concerned unless that would do harm or the law forbids it.`,
      'If we act against your tunnel and you think that we are wrong, reply to our message. A person who did not make the first decision, where there is one, will look at it again.',
    ],
  };
}

const yourContent: LegalSection = {
  id: 'your-content',
  title: 'Your content',
  blocks: [
    'Your content stays yours. You give us permission to host, copy, transmit and process it only as far as that is necessary to provide, protect and support the service for you.',
    'We do not monitor what passes through tunnels and have no general duty to do so. You are responsible for your content and for what your visitors do with it.',
  ],
};

const dataProtection: LegalSection = {
  id: 'data-protection',
  title: 'Data protection',
  blocks: [
    'Each of us complies with the data protection law that applies to it. For account data and our own logs we are the controller; the privacy policy applies. For personal data that passes through your tunnels you are the controller (or the processor of somebody else) and we are your processor; the data processing terms at the end of this page apply and are part of this contract.',
  ],
};

function software(operator: OperatorIdentity): LegalSection {
  return {
    id: 'the-client',
    title: 'The client and other software',
    blocks: [
      'The client is licensed under the licence that comes with it. Nothing here takes away rights that an open source licence gives you.',
      `The dashboard, the design, the name and the logo remain the property of ${operator.name} or its licensors.`,
      'Versions of the client become unsupported in time. We may refuse a version that endangers the service or its users, and we will say so in advance where we can.',
    ],
  };
}

const feesAndSubscription: LegalSection = {
  id: 'fees-and-subscription',
  title: 'Subscription and fees',
  blocks: [
    'During the closed preview we make no separate charge for Underpass. You need a subscription, which you hold under its own terms with its seller; its price, billing, renewal and refunds are a matter between you and that seller.',
    'If your subscription ends, we may give you a period of notice and then suspend or close your account.',
    'If we introduce fees we will announce them at least 30 days in advance. Nobody is charged without agreeing to it first, and you may leave before they apply.',
  ],
};

const availability: LegalSection = {
  id: 'availability',
  title: 'Availability, support and changes',
  blocks: [
    'We work to keep the service running but promise no particular availability, speed or capacity, and there are no service credits during the preview. We may maintain, update, move or restrict parts of it; where we expect an interruption that you would notice, we announce it if we can.',
    'Support is by e-mail and community channels, with reasonable effort and without promised response times.',
  ],
};

const suspension: LegalSection = {
  id: 'suspension',
  title: 'Suspension',
  blocks: [
    {
      intro: 'We may suspend a tunnel, a project or an account, in whole or in part, if we reasonably believe that:',
      items: [
        'these terms are being broken;',
        'it endangers the service, its users or others, or is under an attack that affects others;',
        'the law, a court or an authority requires it;',
        'the subscription is no longer active.',
      ],
    },
    'We do no more than is needed, tell you why and what would end it, and give notice first where that would not make things worse. We lift a suspension when its reason is gone.',
  ],
};

const termination: LegalSection = {
  id: 'termination',
  title: 'Ending the agreement',
  blocks: [
    'You may stop at any time: delete your tunnels and domains, and write to us to close your account.',
    'We may end this agreement with 30 days of notice by e-mail. We may end it at once if you break these terms seriously or again and again, if you do not put a breach right within 14 days of our asking, if you become insolvent, or if we have to by law.',
    'When it ends, your right to use the service ends, tunnels stop, and clients are disconnected. For 14 days afterwards you may ask us for a copy of your configuration, unless the law forbids us to give it; after that it is deleted as the privacy policy says. Terms that by their nature should go on do so, among them those on liability, intellectual property, confidentiality and law.',
  ],
};

function intellectualProperty(operator: OperatorIdentity): LegalSection {
  return {
    id: 'intellectual-property',
    title: 'Intellectual property and feedback',
    blocks: [
      `Apart from the rights that these terms give you, all rights in the service belong to ${operator.name} and its licensors. You may not copy, decompile or make derived works of the hosted service, except where the law allows it in spite of such a term.`,
      'If you send us ideas or feedback, we may use them freely and owe you nothing for them. We will not name you without asking.',
    ],
  };
}

const confidentiality: LegalSection = {
  id: 'confidentiality',
  title: 'Confidentiality',
  blocks: [
    'Each of us keeps secret what the other discloses in confidence, uses it only for this agreement, and protects it with reasonable care. This does not cover what is public, was already known, is developed independently, or must be disclosed by law. You are free to talk about the preview unless we told you that a certain thing is confidential.',
  ],
};

const warranties: LegalSection = {
  id: 'warranties',
  title: 'No warranties',
  blocks: [
    'The service is a preview and is provided as it is and as it is available. As far as the law allows, we exclude all warranties, conditions and terms that are not written here, whether implied by statute, common law or custom, including those of satisfactory quality, fitness for a particular purpose, reasonable care and skill, and non-infringement. We do not promise that the service will be uninterrupted, free of faults, or proof against every attack.',
  ],
};

const liability: LegalSection = {
  id: 'liability',
  title: 'Liability',
  blocks: [
    {
      intro: 'Nothing in these terms limits or excludes liability:',
      items: [
        'for death or personal injury caused by negligence;',
        'for fraud or fraudulent misrepresentation;',
        'for anything else for which liability may not be limited or excluded by law.',
      ],
    },
    {
      intro:
        'Subject to that, whether in contract, tort (including negligence), breach of statutory duty or otherwise, we are not liable for:',
      items: [
        'loss of profit, revenue, business, contracts, anticipated savings or goodwill;',
        'loss or corruption of data, or the cost of replacing it;',
        'loss that comes from an interruption or a fault of the preview;',
        'what your upstreams, your content, your visitors or third parties do;',
        'any indirect or consequential loss.',
      ],
    },
    'Subject to the same, our total liability to you for everything that arises out of or in connection with the service and these terms is limited to the greater of 100 pounds sterling (£100) and the fees that you paid us for the service in the six months before the event that gave rise to the claim.',
    'The preview is offered without a separate charge, and these limits reflect how the risk is shared. Each of us must take reasonable steps to keep its own loss small.',
  ],
};

const indemnity: LegalSection = {
  id: 'indemnity',
  title: 'Claims by others',
  blocks: [
    'If you use the service in the course of a business and somebody claims against us because of your content, your upstreams, or your breach of these terms or of the law, you will compensate us for the damages and reasonable costs that follow. We will tell you of the claim promptly, let you take part in the defence, and not settle it in a way that puts an obligation on you without your consent, which you may not unreasonably refuse.',
  ],
};

const consumers: LegalSection = {
  id: 'consumers',
  title: 'If you are a consumer',
  blocks: [
    'If you use Underpass wholly or mainly outside any trade, business or profession, you have rights by law that no contract can take away, for example that a service is performed with reasonable care and skill (Consumer Rights Act 2015). Nothing here affects them, and the sections on warranties, liability and claims by others apply to you only as far as those rights allow. Citizens Advice can tell you more.',
    'You may cancel within 14 days of accepting these terms without giving a reason, by writing to us. If you ask us to start earlier, you agree that the service begins at once.',
  ],
};

const sanctions: LegalSection = {
  id: 'sanctions',
  title: 'Export and sanctions',
  blocks: [
    'You confirm that you are not subject to sanctions of the United Kingdom, the European Union, the United Nations or the United States, and that you will not use the service in breach of export control or sanctions law.',
  ],
};

const eventsBeyondControl: LegalSection = {
  id: 'events-beyond-control',
  title: 'Events beyond control',
  blocks: [
    'Neither of us is liable for a failure that comes from something beyond its reasonable control, such as failures of networks, power or suppliers, attacks, disasters or acts of government, for as long as it lasts and provided that reasonable steps are taken.',
  ],
};

const changesToTerms: LegalSection = {
  id: 'changes-to-terms',
  title: 'Changes to these terms',
  blocks: [
    'We may change these terms. We publish the new text with its date, and tell account holders of a change that matters by e-mail at least 30 days before it applies; a change required by law or for security may apply sooner. If you do not agree, stop using the service and close your account before that day. Using it afterwards means that you accept the change.',
  ],
};

const general: LegalSection = {
  id: 'general',
  title: 'General',
  blocks: [
    {
      items: [
        'These terms are the whole agreement between us about the service, and replace anything said or written before.',
        'You may not transfer this agreement without our consent. We may transfer it to a company that takes over the service, if your rights do not suffer.',
        'If a court finds a part of these terms invalid, the rest remains in force.',
        'If one of us does not insist on a right at once, the right is not lost.',
        'Nobody other than you and us has rights under these terms (Contracts (Rights of Third Parties) Act 1999).',
        'Nothing here makes us partners, or either of us the agent or employee of the other.',
        'Each of us complies with the Bribery Act 2010 and the Modern Slavery Act 2015.',
      ],
    },
  ],
};

const governingLaw: LegalSection = {
  id: 'governing-law',
  title: 'Law and courts',
  blocks: [
    'These terms, and any dispute or claim connected with them or with the service (also one that is not contractual), are governed by the law of England and Wales.',
    'The courts of England and Wales have exclusive jurisdiction. If you are a consumer who lives in Scotland or Northern Ireland you may also go to the courts there, and if you live elsewhere you keep the protection of the mandatory law of your country.',
    'Before going to court, each of us will try in good faith for 30 days to settle the matter by talking.',
  ],
};

function notices(operator: OperatorIdentity): LegalSection {
  return {
    id: 'notices',
    title: 'Notices and contact',
    blocks: [
      `Write to us at ${operator.email}${operator.address ? ` or by post at ${operator.address}` : ''}. We write to the e-mail address of your account, so keep it working. A message by e-mail counts as received on the next working day, unless it was returned.`,
    ],
  };
}

const dataProcessingTerms: LegalSection = {
  id: 'data-processing-terms',
  title: 'Data processing terms',
  blocks: [
    'These terms apply where we process personal data for you in the traffic of your tunnels (UK GDPR Article 28).',
    {
      intro: 'What is processed:',
      items: [
        'Subject and purpose: to carry connections between visitors and your upstreams.',
        'Duration: while your tunnels exist. Traffic is held in memory for the moment of passing it on, and is not stored.',
        'Data: whatever you and your visitors send, with the IP addresses of visitors.',
        'People: your visitors, and the people about whom data is sent.',
      ],
    },
    {
      intro: 'We will:',
      items: [
        'process the data only on your documented instructions, which are these terms and your configuration, unless the law requires otherwise, in which case we tell you first if we may;',
        'tell you if we believe that an instruction breaks the law;',
        'bind the people who handle it to confidentiality;',
        'apply technical and organisational measures appropriate to the risk (Article 32);',
        'help you, as far as we can and with regard to what we know, to answer requests of the people concerned and to meet your duties of security, breach notification and impact assessment;',
        'tell you without undue delay when we learn of a breach of personal data that we process for you;',
        'delete the data when the service ends. As traffic is not stored, there is none to return;',
        'give you the information that is necessary to show that we keep these terms, and allow an audit once a year, or after a breach, with 30 days of notice, at your cost and under confidentiality.',
      ],
    },
    'You give us general authority to use other processors, for hosting and network above all. We bind them to the same duties, answer for what they do, and tell you of a new one at least 14 days in advance on request. If you object for good reason and we cannot do without it, you may end this agreement.',
    'We transfer the data out of the United Kingdom only to the region that you choose, or under the safeguards that the law requires.',
  ],
};
