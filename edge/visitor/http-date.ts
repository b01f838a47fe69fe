// The current time in HTTP's format (RFC 9110 5.6.7), rendered once a second.

let madeFor = Number.NaN;
let text = '';

export function httpDate(): string {
  const second = Math.floor(Date.now() / 1_000);
  if (second !== madeFor) {
    madeFor = second;
    text = new Date(second * 1_000).toUTCString();
  }
  return text;
}
