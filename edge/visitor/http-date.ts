// The time as HTTP writes it (RFC 9110 5.6.7), made once a second.

let madeFor = Number.NaN;
let text = '';

export function httpDate(nowMs: number = Date.now()): string {
  const second = Math.floor(nowMs / 1_000);
  if (second !== madeFor) {
    madeFor = second;
    text = new Date(second * 1_000).toUTCString();
  }
  return text;
}
