import { deskPaths } from '../paths.ts'
import { Field, Form, SecretField } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

export interface TokensData {
  readonly tokens: readonly {
    readonly id: number
    readonly name: string
    readonly role: 'editor' | 'admin'
    /** Name of the person who created it; null for an operator. */
    readonly created_by: string | null
    readonly expires: string | null
    readonly last_used: string | null
    readonly revoked: string | null
  }[]
  /** A token that was just created. It is shown once. */
  readonly created?: { readonly name: string; readonly token: string }
  readonly errors?: Readonly<Record<string, string>>
}

/** All API tokens, and a form that creates one. */
export function Tokens({ tokens, created, errors = {} }: TokensData) {
  const { words, time } = useDesk()
  return (
    <DeskLayout title={words.tokens}>
      {created && (
        <section>
          <h2>{words.tokenCreated(created.name)}</h2>
          <p>{words.tokenCreatedHelp}</p>
          <SecretField label={words.newToken} value={created.token} />
        </section>
      )}
      <p class="help">{words.tokensHelp}</p>
      <ul class="rows">
        {tokens.map((token) => (
          <li key={token.id}>
            <div>
              <b>{token.name}</b> <span class="mark">{words.roles[token.role]}</span>{' '}
              {token.revoked !== null && <span class="mark warn">{words.revoked}</span>}
              <p class="help">
                {words.expires} {token.expires && time(token.expires)} · {words.lastUsed}{' '}
                {token.last_used === null ? words.never : time(token.last_used)}
                {token.created_by !== null && ` · ${words.createdBy(token.created_by)}`}
              </p>
            </div>
            {token.revoked === null && (
              <Form action={deskPaths.revokeToken}>
                <input type="hidden" name="id" value={token.id} />
                <button type="submit" class="quiet" aria-label={`${words.revoke}: ${token.name}`}>
                  {words.revoke}
                </button>
              </Form>
            )}
          </li>
        ))}
      </ul>
      <section>
        <h2>{words.newToken}</h2>
        <Form action={deskPaths.tokens}>
          <Field
            label={words.tokenFor}
            name="name"
            error={errors.name}
            maxLength={100}
            autocomplete="off"
            required
          />
          <Field
            label={words.days}
            name="days"
            type="number"
            min={1}
            max={3650}
            value="365"
            error={errors.days}
            required
          />
          <fieldset class="field">
            <legend>{words.role}</legend>
            {(['editor', 'admin'] as const).map((role) => (
              <label key={role} class="choice">
                <input type="radio" name="role" value={role} checked={role === 'editor'} />
                <span>
                  <b>{words.roles[role]}</b> {words.roleHelp[role]}
                </span>
              </label>
            ))}
          </fieldset>
          <button type="submit">{words.createToken}</button>
        </Form>
      </section>
    </DeskLayout>
  )
}
