import { feedKinds, type Webhook, type WebhookDelivery } from '@talkshelf/contract'
import { deskPaths } from '../paths.ts'
import { Field, Form, SecretField } from './form.tsx'
import { DeskLayout } from './layout.tsx'
import { useDesk } from './view.ts'

/** What a form of a webhook contains. */
export interface WebhookValues {
  readonly url: string
  readonly kind: string
  readonly category: string
  readonly speaker: string
  readonly tag: string
}

export type WebhookFormError = 'url' | 'id' | 'since' | 'otherHistory' | 'tooMany'

/** Errors by the field that they are about. */
export type WebhookErrors = Readonly<Partial<Record<string, WebhookFormError>>>

export interface WebhooksData {
  readonly webhooks: readonly Webhook[]
  readonly isSetUp: boolean
  /** A webhook that was just created. Its secret is shown once. */
  readonly created?: { readonly id: number; readonly secret: string }
  /** What the form contained, if it was refused. */
  readonly typed?: WebhookValues
  readonly errors?: WebhookErrors
}

const noValues: WebhookValues = { url: '', kind: '', category: '', speaker: '', tag: '' }

/** All webhooks, and a form that creates one. */
export function Webhooks({ webhooks, isSetUp, created, typed, errors = {} }: WebhooksData) {
  const { words, href } = useDesk()
  const text = words.webhooks
  return (
    <DeskLayout title={text.title}>
      {created && <NewSecret {...created} />}
      <p class="help">{text.help}</p>
      {webhooks.length === 0 && <p>{text.none}</p>}
      <ul class="rows">
        {webhooks.map((webhook) => (
          <li key={webhook.id}>
            <div class="long">
              <a href={href(deskPaths.webhook(webhook.id))}>{webhook.url}</a>{' '}
              <State webhook={webhook} />
              <p class="help">
                <Progress webhook={webhook} />
              </p>
            </div>
          </li>
        ))}
      </ul>
      <section>
        <h2>{text.create}</h2>
        {isSetUp ? (
          <Form action={deskPaths.webhooks}>
            <WebhookFields values={typed ?? noValues} errors={errors} />
            <button type="submit">{text.create}</button>
          </Form>
        ) : (
          <p>{text.notSetUp}</p>
        )}
      </section>
    </DeskLayout>
  )
}

function NewSecret({ id, secret }: { readonly id: number; readonly secret: string }) {
  const { words } = useDesk()
  const text = words.webhooks
  return (
    <section>
      <h2>{text.secretOf(id)}</h2>
      <p>{text.secretHelp}</p>
      <SecretField label={text.secret} value={secret} />
    </section>
  )
}

function State({ webhook: { state, error } }: { readonly webhook: Webhook }) {
  const { words } = useDesk()
  const isBad = state === 'failing' || state === 'disabled' || error !== null
  return <span class={isBad ? 'mark warn' : 'mark'}>{words.webhooks.states[state]}</span>
}

/** How far a webhook is, and since when it fails. */
function Progress({ webhook }: { readonly webhook: Webhook }) {
  const { words, time, locale } = useDesk()
  const text = words.webhooks
  const { behind, failing_since: failingSince, next_attempt: nextAttempt, state, error } = webhook
  const isRetried = state === 'failing' && nextAttempt !== null
  return (
    <>
      {[
        error === null ? '' : text.invalidFilter,
        behind === 0 ? text.upToDate : text.behind(behind.toLocaleString(locale)),
        failingSince === null ? '' : `${text.failingSince}: ${time(`${failingSince}Z`)}`,
        isRetried ? `${text.nextAttempt}: ${time(`${nextAttempt}Z`)}` : '',
      ]
        .filter(Boolean)
        .join(' · ')}
    </>
  )
}

function WebhookFields(props: { readonly values: WebhookValues; readonly errors: WebhookErrors }) {
  const { values, errors } = props
  const { words } = useDesk()
  const text = words.webhooks
  const errorOf = (name: string) => {
    const error = errors[name]
    return error === undefined ? undefined : text.errors[error]
  }
  return (
    <>
      <Field
        label={text.url}
        name="url"
        type="url"
        help={text.urlHelp}
        value={values.url}
        error={errorOf('url')}
        maxLength={2048}
        autocomplete="off"
        required
      />
      <fieldset class="field">
        <legend>{text.filter}</legend>
        <div class="field">
          <label for="field-kind">{text.kind}</label>
          <select id="field-kind" name="kind">
            <option value="">{text.anyKind}</option>
            {feedKinds.map((kind) => (
              <option key={kind} value={kind} selected={kind === values.kind}>
                {text.kinds[kind]}
              </option>
            ))}
          </select>
        </div>
        <p class="help">{text.idHelp}</p>
        {(['category', 'speaker', 'tag'] as const).map((name) => (
          <Field
            key={name}
            label={`${text[name]} (${words.optional})`}
            name={name}
            inputMode="numeric"
            value={values[name]}
            error={errorOf(name)}
            maxLength={16}
            autocomplete="off"
          />
        ))}
      </fieldset>
    </>
  )
}

export interface WebhookPageData {
  readonly webhook: Webhook
  readonly deliveries: readonly WebhookDelivery[]
  /** The id of the last delivery of this page, if there are more. */
  readonly next: number | undefined
  readonly isSetUp: boolean
  /** A new secret, which is shown once. */
  readonly secret?: string
  /** What a form contained, if it was refused. */
  readonly typed?: WebhookValues
  readonly since?: string
  readonly errors?: WebhookErrors
}

/** One webhook: its state, settings, actions and last deliveries. */
export function WebhookPage(data: WebhookPageData) {
  const { webhook, secret, typed, errors = {} } = data
  const { words, href } = useDesk()
  const text = words.webhooks
  const { id, url, filter, state } = webhook
  const values = {
    url,
    kind: filter.kind ?? '',
    category: String(filter.category ?? ''),
    speaker: String(filter.speaker ?? ''),
    tag: String(filter.tag ?? ''),
  }
  return (
    <DeskLayout title={text.one(id)}>
      <p>
        <a href={href(deskPaths.webhooks)}>{text.title}</a>
      </p>
      {secret !== undefined && <NewSecret id={id} secret={secret} />}
      <p>
        <State webhook={webhook} /> {text.stateHelp[state]}
      </p>
      <p class="help">
        <Progress webhook={webhook} />
      </p>
      <Actions {...data} />
      <section>
        <h2>{text.settings}</h2>
        <Form action={deskPaths.webhook(id)}>
          <WebhookFields values={typed ?? values} errors={errors} />
          <button type="submit">{words.save}</button>
        </Form>
      </section>
      <Deliveries {...data} />
      <section>
        <h2>{text.remove}</h2>
        <p class="help">{text.removeHelp}</p>
        <Form action={deskPaths.deleteWebhook(id)}>
          <button type="submit" class="danger">
            {text.remove}
          </button>
        </Form>
      </section>
    </DeskLayout>
  )
}

function Actions({ webhook, isSetUp, since, errors = {} }: WebhookPageData) {
  const { words, time } = useDesk()
  const text = words.webhooks
  const { id, state, old_secret_until: oldSecretUntil } = webhook
  return (
    <section>
      <h2>{text.actions}</h2>
      {!isSetUp && <p>{text.notSetUp}</p>}
      <Form action={deskPaths.pingWebhook(id)}>
        <p class="help">{text.pingHelp}</p>
        <button type="submit" disabled={!isSetUp}>
          {text.ping}
        </button>
      </Form>
      {(state === 'disabled' || state === 'failing') && (
        <Form action={deskPaths.enableWebhook(id)}>
          <div class="actions">
            <button type="submit" name="from" value="cursor">
              {state === 'failing' ? text.tryNow : text.enable}
            </button>
            {state === 'disabled' && (
              <button type="submit" name="from" value="now">
                {text.enableNow}
              </button>
            )}
          </div>
        </Form>
      )}
      {(state === 'active' || state === 'failing') && (
        <Form action={deskPaths.disableWebhook(id)}>
          <button type="submit">{text.disable}</button>
        </Form>
      )}
      <Form action={deskPaths.webhookSecret(id)}>
        <p class="help">
          {text.rotateHelp}{' '}
          {oldSecretUntil !== null && `${text.oldSecretUntil} ${time(`${oldSecretUntil}Z`)}.`}
        </p>
        <button type="submit" disabled={!isSetUp}>
          {text.rotate}
        </button>
      </Form>
      <Form action={deskPaths.replayWebhook(id)}>
        <Field
          label={text.since}
          name="since"
          help={text.replayHelp}
          value={since}
          error={errors.since && text.errors[errors.since]}
          maxLength={40}
          autocomplete="off"
          required
        />
        <button type="submit">{text.replay}</button>
      </Form>
    </section>
  )
}

function Deliveries({ webhook, deliveries, next }: WebhookPageData) {
  const { words, time, href, locale } = useDesk()
  const text = words.webhooks
  return (
    <section>
      <h2>{text.deliveries}</h2>
      {deliveries.length === 0 ? (
        <p>{text.noDeliveries}</p>
      ) : (
        <section class="scroll" tabindex={0} aria-label={text.deliveries}>
          <table>
            <thead>
              <tr>
                <th scope="col">{words.when}</th>
                <th scope="col">{text.outcome}</th>
                <th scope="col">{text.entries}</th>
                <th scope="col">{text.duration}</th>
                <th scope="col">{text.message}</th>
                <th scope="col">{text.answer}</th>
              </tr>
            </thead>
            <tbody>
              {deliveries.map((delivery) => (
                <tr key={delivery.id}>
                  <td>
                    <time dateTime={`${delivery.at}Z`}>{time(`${delivery.at}Z`)}</time>
                  </td>
                  <td>
                    {text.outcomes[delivery.outcome]}
                    {delivery.status !== null && ` (${delivery.status})`}
                  </td>
                  <td>{delivery.entries === 0 ? 'ping' : delivery.entries}</td>
                  <td>{delivery.duration_ms.toLocaleString(locale)} ms</td>
                  <td>{delivery.message}</td>
                  <td>{delivery.answer.slice(0, 200)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {next !== undefined && (
        <p>
          <a href={href(`${deskPaths.webhook(webhook.id)}?before=${next}`)}>{words.older}</a>
        </p>
      )}
    </section>
  )
}
