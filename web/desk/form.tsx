import type { ComponentChildren } from 'preact'
import { useDesk } from './view.ts'

interface FormProps {
  readonly action: string
  readonly class?: string
  /** For forms with a file. */
  readonly enctype?: 'multipart/form-data'
  readonly children: ComponentChildren
  /** Attributes for scripts. */
  readonly data?: Readonly<Record<`data-${string}`, string>>
}

/** A form with the token that its target requires. */
export function Form({ action, children, data = {}, ...props }: FormProps) {
  const { href, formToken } = useDesk()
  return (
    <form method="post" action={href(action)} {...data} {...props}>
      <input type="hidden" name="form_token" value={formToken(action)} />
      {children}
    </form>
  )
}

interface FieldProps {
  readonly label: string
  readonly name: string
  readonly help?: string
  readonly error?: string | undefined
  readonly value?: string | undefined
  readonly type?: 'text' | 'email' | 'number' | 'url' | 'date' | 'datetime-local'
  readonly inputMode?: 'numeric' | 'url'
  readonly autocomplete?: 'off' | 'one-time-code' | 'email'
  readonly maxLength?: number
  readonly min?: number
  readonly max?: number
  readonly required?: boolean
  /** Attributes for scripts. */
  readonly data?: Readonly<Record<`data-${string}`, string>>
}

/** A text field with its label, help and error. */
export function Field({ label, help, error, name, type = 'text', data, ...input }: FieldProps) {
  const helpId = help === undefined ? undefined : `${name}-help`
  const errorId = error === undefined ? undefined : `${name}-error`
  // The types of Preact know only inputs with a literal type.
  const attributes: object = { type, ...input, ...data }
  return (
    <div class="field">
      <label for={`field-${name}`}>{label}</label>
      <input
        id={`field-${name}`}
        name={name}
        aria-describedby={[errorId, helpId].filter(Boolean).join(' ') || undefined}
        aria-invalid={error === undefined ? undefined : 'true'}
        {...attributes}
      />
      {error !== undefined && (
        <p class="error" id={errorId}>
          {error}
        </p>
      )}
      {help !== undefined && (
        <p class="help" id={helpId}>
          {help}
        </p>
      )}
    </div>
  )
}

interface TextAreaProps {
  readonly label: string
  readonly name: string
  readonly value: string
  readonly rows?: number
  readonly help?: string | undefined
  readonly error?: string | undefined
}

/** A text of several lines with its label, help and error. */
export function TextArea({ label, name, value, rows = 3, help, error }: TextAreaProps) {
  const ids = [error === undefined ? '' : `${name}-error`, help === undefined ? '' : `${name}-help`]
  return (
    <div class="field">
      <label for={`field-${name}`}>{label}</label>
      <textarea
        id={`field-${name}`}
        name={name}
        rows={rows}
        autocomplete="off"
        aria-describedby={ids.filter(Boolean).join(' ') || undefined}
        aria-invalid={error === undefined ? undefined : 'true'}
      >
        {/* The browser drops the first line break. */}
        {`\n${value}`}
      </textarea>
      {error !== undefined && (
        <p class="error" id={`${name}-error`}>
          {error}
        </p>
      )}
      {help !== undefined && (
        <p class="help" id={`${name}-help`}>
          {help}
        </p>
      )}
    </div>
  )
}

interface FileFieldProps {
  readonly label: string
  /** Default: `file`. */
  readonly name?: string
  readonly help: string
  readonly error: string | undefined
  readonly maxBytes: number
  /** The error of a file that is too large. With scripts it is shown before the form is sent. */
  readonly tooLarge: string
  /** The types that the file chooser offers. */
  readonly accept?: string
}

/** The file of a form with its label, help and error. */
export function FileField({ label, name = 'file', help, error, ...props }: FileFieldProps) {
  const { maxBytes, tooLarge, accept } = props
  return (
    <div class="field">
      <label for={`field-${name}`}>{label}</label>
      <input
        id={`field-${name}`}
        name={name}
        type="file"
        accept={accept}
        aria-describedby={`${name}-error ${name}-help`}
        aria-invalid={error === undefined ? undefined : 'true'}
        data-max-bytes={maxBytes}
        data-too-large={tooLarge}
      />
      <p class="error lines" id={`${name}-error`} role="alert">
        {error}
      </p>
      <p class="help" id={`${name}-help`}>
        {help}
      </p>
    </div>
  )
}

/** A checkbox that sends the link of a form by mail. */
export function SendField() {
  const { words } = useDesk()
  return (
    <label class="choice field">
      <input type="checkbox" name="send" value="1" checked />
      <span>{words.sendByMail}</span>
    </label>
  )
}

/** A radio button for each role, with what it allows. */
export function RoleField({ value }: { value: string }) {
  const { words } = useDesk()
  return (
    <fieldset class="field">
      <legend>{words.role}</legend>
      <input type="hidden" name="role_before" value={value} />
      {(['suggester', 'editor', 'admin'] as const).map((role) => (
        <label key={role} class="choice">
          <input type="radio" name="role" value={role} checked={role === value} />
          <span>
            <b>{words.roles[role]}</b> {words.roleHelp[role]}
          </span>
        </label>
      ))}
    </fieldset>
  )
}

/** A secret that is shown once, with a button that copies it. */
export function SecretField({ label, value }: { label: string; value: string }) {
  const { words } = useDesk()
  return (
    <div class="field secret">
      <label>
        {label}
        <input readOnly value={value} />
      </label>
      <button type="button" data-copy={value} hidden>
        {words.copy}
      </button>
    </div>
  )
}

/** Form attributes with which the script of the desk creates or uses a passkey. */
export function passkeyAttributes(
  action: 'create' | 'get',
  options: unknown,
  words: Readonly<{ passkeyCancelled: string; passkeyExists: string; passkeysUnsupported: string }>,
) {
  return {
    'data-passkey': action,
    'data-options': JSON.stringify(options),
    'data-cancelled': words.passkeyCancelled,
    'data-exists': words.passkeyExists,
    'data-unsupported': words.passkeysUnsupported,
  } as const
}
