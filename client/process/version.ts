// What this build is: version, platform name and the key that signs releases. The release build defines the last two.
import manifest from '../package.json' with { type: 'json' };

// biome-ignore lint/style/useNamingConvention: the release build defines this name
declare const UNDERPASS_BUILD_PLATFORM: string | undefined;
// biome-ignore lint/style/useNamingConvention: the release build defines this name
declare const UNDERPASS_BUILD_RELEASE_KEY: string | undefined;

export const version: string = manifest.version;

/** Platform of the compiled program, such as linux-x64; undefined if Node runs the source. */
export const builtFor: string | undefined =
  typeof UNDERPASS_BUILD_PLATFORM === 'undefined' ? undefined : UNDERPASS_BUILD_PLATFORM;

/** Ed25519 public key (SPKI, base64) that `update` trusts; undefined if Node runs the source. */
export const releaseKey: string | undefined =
  typeof UNDERPASS_BUILD_RELEASE_KEY === 'undefined' ? undefined : UNDERPASS_BUILD_RELEASE_KEY;
