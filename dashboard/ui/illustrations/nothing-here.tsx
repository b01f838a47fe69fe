// Any other empty list: an empty road that leads over a hill.
import { Lamp, Scene } from './scene.tsx';

export function NothingHereIllustration() {
  return (
    <Scene>
      <path d="M8 84c30-14 58-18 84-12s66 10 120-10" className="stroke-line" />
      <path d="M92 72h34l58 52H34z" className="fill-sunken stroke-none" />
      <path d="M92 72 34 124M126 72l58 52" />
      <path d="M109 78v5M109 91v8M109 108v12" className="stroke-accent" strokeWidth="3" />
      <Lamp x={10} lit={false} />
      <path d="M150 34h34a8 8 0 0 0 0-16 12 12 0 0 0-23-3 10 10 0 0 0-11 19z" className="stroke-line" />
    </Scene>
  );
}
