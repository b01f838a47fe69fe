// Registered and waiting for approval: an amber signal.
import { Ground, Scene } from './scene.tsx';

export function RegisteredIllustration() {
  return (
    <Scene>
      <path d="M110 112V96" strokeWidth="5" />
      <rect x="88" y="12" width="44" height="84" rx="10" className="fill-surface" />
      <circle cx="110" cy="30" r="9" className="fill-sunken" />
      <circle cx="110" cy="54" r="9" className="fill-accent" />
      <circle cx="110" cy="78" r="9" className="fill-sunken" />
      <path d="M68 54H50M72 38l-14-8M72 70l-14 8M152 54h18M148 38l14-8M148 70l14 8" className="stroke-accent" strokeWidth="3" />
      <Ground />
    </Scene>
  );
}
