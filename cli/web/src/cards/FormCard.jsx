import { useId, useMemo, useState } from 'react'
import { fieldsOf, formAnswer, initialValues, inputType, readForm } from '../lib/form.js'
import { described, Frame, Labelled } from './Frame.jsx'

function Choices({ id, field, value, onChange, disabled, error, first }) {
  const toggle = (index, on) => onChange(on ? [...value, index] : value.filter((held) => held !== index))
  return (
    <fieldset className="field" data-testid={`field-${field.name}`} disabled={disabled}>
      <legend>
        {field.label}
        {field.required && <span className="required"> *</span>}
      </legend>
      {field.description && <p className="muted">{field.description}</p>}
      {field.options.map((option, i) => (
        <label key={i} className="check">
          <input
            type="checkbox"
            id={`${id}-${i}`}
            data-first={first && i === 0 ? true : undefined}
            checked={value.includes(String(i))}
            onChange={(event) => toggle(String(i), event.target.checked)}
          />
          {option.label}
        </label>
      ))}
      {error && (
        <p className="bad-text" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  )
}

function Check({ id, field, value, onChange, disabled, error, first }) {
  return (
    <div className="field">
      <label className="check">
        <input
          type="checkbox"
          id={id}
          data-testid={`field-${field.name}`}
          data-first={first ? true : undefined}
          disabled={disabled}
          checked={value}
          {...described(id, { ...field, error })}
          onChange={(event) => onChange(event.target.checked)}
        />
        {field.label}
      </label>
      {field.description && (
        <p id={`${id}-help`} className="muted">
          {field.description}
        </p>
      )}
    </div>
  )
}

function control(id, field, props) {
  const { value, onChange, disabled, error, first } = props
  const common = {
    id,
    value,
    disabled,
    'data-testid': `field-${field.name}`,
    'data-first': first ? true : undefined,
    ...described(id, { ...field, error }),
    onChange: (event) => onChange(event.target.value),
  }
  switch (field.kind) {
    case 'choice':
      return (
        <select {...common}>
          <option value="">{field.required ? 'Choose…' : '(no answer)'}</option>
          {field.options.map((option, i) => (
            <option key={i} value={String(i)}>
              {option.label}
            </option>
          ))}
        </select>
      )
    case 'json':
      return <textarea {...common} className="code" rows={3} spellCheck={false} placeholder="JSON" />
    case 'number':
    case 'integer':
      return (
        <input
          {...common}
          type="text"
          inputMode={field.kind === 'integer' ? 'numeric' : 'decimal'}
          autoComplete="off"
        />
      )
    default: {
      const type = inputType(field)
      const step = type === 'datetime-local' ? 1 : undefined
      return <input {...common} type={type} step={step} autoComplete="off" />
    }
  }
}

function Field(props) {
  const id = useId()
  const { field, error } = props
  if (field.kind === 'choices') return <Choices id={id} {...props} />
  if (field.kind === 'boolean') return <Check id={id} {...props} />
  return (
    <Labelled
      id={id}
      label={field.label}
      required={field.required}
      description={field.description}
      error={error}
    >
      {control(id, field, props)}
    </Labelled>
  )
}

/** A form that an MCP server asks to have filled in. */
export function FormCard({ item, view, order, draft, onStop }) {
  const fields = useMemo(() => fieldsOf(view.request.requestedSchema, order), [view.request, order])
  const [values, setValues] = useState(() => ({ ...initialValues(fields), ...draft.read() }))
  const [errors, setErrors] = useState({})
  const answered = item.status === 'staged'

  const change = (name, value) => {
    const next = { ...values, [name]: value }
    setValues(next)
    draft.write(next)
    if (Object.hasOwn(errors, name)) setErrors(readForm(fields, next).errors)
  }
  const submit = (form) => {
    const read = readForm(fields, values)
    setErrors(read.errors)
    const wrong = fields.findIndex((field) => Object.hasOwn(read.errors, field.name))
    if (wrong < 0) return item.resolveInterrupt(formAnswer(fields, read.values))
    form.querySelectorAll('.field')[wrong]?.querySelector('input, select, textarea')?.focus()
  }
  const question = typeof view.request.message === 'string' ? view.request.message : item.message

  return (
    <Frame
      item={item}
      onStop={onStop}
      kind="form"
      title={question ?? 'The server asks'}
      onSubmit={submit}
      actions={
        <>
          <button type="submit" className="primary" data-testid="interrupt-send">
            Send
          </button>
          <button
            type="button"
            data-testid="interrupt-decline"
            title="Tell the server that you do not want to answer"
            onClick={() => item.resolveInterrupt({ action: 'decline' })}
          >
            Decline
          </button>
          <button
            type="button"
            data-testid="interrupt-cancel"
            title="Put the question aside without an answer"
            onClick={() => item.cancel()}
          >
            Cancel
          </button>
        </>
      }
    >
      {fields.map((field, i) => (
        <Field
          key={field.name}
          field={field}
          first={i === 0}
          value={values[field.name]}
          error={Object.hasOwn(errors, field.name) ? errors[field.name] : undefined}
          disabled={answered}
          onChange={(value) => change(field.name, value)}
        />
      ))}
      {Object.keys(errors).length > 1 && (
        <p className="bad-text" data-testid="form-errors">
          {Object.keys(errors).length} answers need another look.
        </p>
      )}
    </Frame>
  )
}
