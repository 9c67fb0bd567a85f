import { deskMessages } from '../messages/desk-messages.ts'
import type { Locale } from '../messages/messages.ts'

// The texts of mails, in the language of the page from which they are sent.

export interface MailText {
  readonly subject: string
  readonly text: string
}

interface LinkMail {
  /** Name of the archive. */
  readonly site: string
  /** Name of the person. */
  readonly name: string
  readonly url: string
}

/** Returns the mail with a sign-in link that a person asked for. */
export function signInMail(locale: Locale, { site, name, url }: LinkMail): MailText {
  const { signInSubject, greeting, signInText, ignore } = deskMessages[locale].mails
  return {
    subject: signInSubject(site),
    text: paragraphs(greeting(name), signInText(site), url, ignore),
  }
}

/** Returns the mail with an invitation, or with another link that an administrator created. */
export function invitationMail(
  locale: Locale,
  { site, name, url, code }: LinkMail & { readonly code: string },
): MailText {
  const { invitationSubject, greeting, invitationText, codeText } = deskMessages[locale].mails
  return {
    subject: invitationSubject(site),
    text: paragraphs(greeting(name), invitationText(site), url, codeText(code)),
  }
}

const paragraphs = (...texts: string[]) => `${texts.join('\n\n')}\n`
