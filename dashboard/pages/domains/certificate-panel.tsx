// Takes a certificate and its key, pasted or from files.

import type { PayloadOf } from '@underpass/rules/api/call.ts';
import { certificateCalls } from '@underpass/rules/api/certificate-calls.ts';
import type { OwnCertificate } from '@underpass/rules/entity/resource.ts';
import { accept, acceptFields, type Parsed, type ParsedForm, refuse } from '@underpass/rules/parsed.ts';
import { certificateLimits } from '@underpass/rules/tunnel/own-certificate.ts';
import { callApi } from '../../api/request.ts';
import { formPanel, type InOverlay, PanelForm } from '../../form/overlay-form.tsx';
import { type Form, useForm } from '../../form/use-form.ts';
import { Field } from '../../ui/input/field.tsx';
import { Input, Textarea } from '../../ui/input/input.tsx';
import { Switch } from '../../ui/input/switch.tsx';
import { toast } from '../../ui/overlay/toast.tsx';

/** Names the domain. */
export interface CertificateInput {
  readonly project: string;
  readonly name: string;
  readonly host: string;
}

export const fallbackTexts = {
  label: 'When it ends, use a certificate of the service',
  hint: 'Off: visitors are not served after its end. The authority issues only for names that lead here.',
};

interface CertificateFormProps {
  readonly input: CertificateInput;
  readonly replaces: OwnCertificate | undefined;
  readonly onSaved: () => void;
}

export const CertificatePanel = formPanel(
  ({ input, replaces }: CertificateFormProps) => ({
    title: replaces ? 'Replace Certificate' : 'Use Your Own Certificate',
    description: `For ${input.host}. New connections use it at once; open ones go on.`,
  }),
  CertificateForm,
);

interface Values {
  readonly chain: string;
  readonly privateKey: string;
  readonly fallback: boolean;
}

function filled(text: string, most: number, missing: string): Parsed<string> {
  if (text.trim() === '') return refuse(missing);
  return text.length <= most ? accept(text) : refuse(`It may have at most ${most.toLocaleString('en-US')} characters.`);
}

type Payload = PayloadOf<typeof certificateCalls.setOwnCertificate>;

function parse({ chain, privateKey, fallback }: Values): ParsedForm<Payload, keyof Values> {
  return acceptFields({
    chain: filled(chain, certificateLimits.chainChars, 'Give the certificate.'),
    privateKey: filled(privateKey, certificateLimits.keyChars, 'Give the private key.'),
    fallback: accept(fallback),
  });
}

function CertificateForm({ input, replaces, onSaved, onDone }: CertificateFormProps & InOverlay) {
  const form = useForm<Values, Payload>({
    initial: { chain: '', privateKey: '', fallback: replaces?.fallback ?? true },
    parse,
    send: async (payload) => {
      await callApi(certificateCalls.setOwnCertificate, { ...input, payload });
      toast.done('Certificate saved.');
      onSaved();
    },
  });
  return (
    <PanelForm form={form} submitLabel="Save" onCancel={onDone} failureTitle="The certificate was not taken.">
      <PemField form={form} name="chain" label="Certificate" hint="PEM, with the intermediate certificates, in any order." />
      <PemField
        form={form}
        name="privateKey"
        label="Private key"
        hint="PEM, without a passphrase. It is stored encrypted and never shown again."
      />
      <Switch {...fallbackTexts} checked={form.values.fallback} onChange={(fallback) => form.set('fallback', fallback)} />
    </PanelForm>
  );
}

interface PemFieldProps {
  readonly form: Form<Values>;
  readonly name: 'chain' | 'privateKey';
  readonly label: string;
  readonly hint: string;
}

function PemField({ form, name, label, hint }: PemFieldProps) {
  return (
    <div className="grid gap-2">
      <Field label={label} hint={hint} error={form.errors[name]}>
        {(control) => (
          <Textarea
            {...control}
            rows={6}
            // A browser may send what it checks to its maker.
            spellCheck={false}
            autoComplete="off"
            className="font-mono text-sm"
            value={form.values[name]}
            onChange={(event) => form.set(name, event.target.value)}
          />
        )}
      </Field>
      <Field label={`${label} from a file`} hideLabel>
        {(control) => (
          <Input
            {...control}
            type="file"
            accept=".pem,.crt,.cer,.key"
            className="py-2 text-sm"
            onChange={async (event) => form.set(name, (await event.target.files?.[0]?.slice(0, readBytes).text()) ?? '')}
          />
        )}
      </Field>
    </div>
  );
}

/** More than either field takes. */
const readBytes = 2 * certificateLimits.chainChars;
