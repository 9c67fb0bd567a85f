// The library for OpenID Connect, as a module of its own: it is loaded on first use, and the bundle
// has a file with this name.
export {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
} from 'openid-client'
