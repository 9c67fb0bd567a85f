// The library for mail, as a module of its own: it is loaded with the first mail, and the bundle
// has a file with this name.
export { default as MailComposer } from 'nodemailer/lib/mail-composer'
export { default as SmtpConnection } from 'nodemailer/lib/smtp-connection'
