// What a form question asks for: fields out of `requestedSchema`, checks of
// what was typed, and the answer that goes back.

function isRecord(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(value) {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Choices of a titled (`oneOf`/`anyOf` of `const`) or plain `enum` schema. */
function optionsOf(schema) {
  const titled = Array.isArray(schema.oneOf) ? schema.oneOf : schema.anyOf
  if (Array.isArray(titled) && titled.length > 0 && titled.every((o) => isRecord(o) && 'const' in o)) {
    return titled.map((o) => ({ value: o.const, label: text(o.title) ?? String(o.const) }))
  }
  if (!Array.isArray(schema.enum)) return undefined
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : []
  return schema.enum.map((value, i) => ({ value, label: text(names[i]) ?? String(value) }))
}

function kindOf(schema, options) {
  if (options) return 'choice'
  const type = Array.isArray(schema.type) ? schema.type.find((t) => t !== 'null') : schema.type
  if (type === 'array' && isRecord(schema.items)) {
    return optionsOf(schema.items) ? 'choices' : 'json'
  }
  if (type === 'string' || type === 'number' || type === 'integer' || type === 'boolean') return type
  return 'json'
}

/**
 * Orders property names: by `shown` (the order in which the question arrived)
 * when it covers all of them, else by `required`, then by name. Bound
 * interrupts carry their keys sorted, so the schema's own order is gone there.
 */
export function orderNames(names, required, shown) {
  if (shown && names.every((name) => shown.includes(name))) {
    return shown.filter((name) => names.includes(name))
  }
  const first = required.filter((name) => names.includes(name))
  return [...new Set([...first, ...names.filter((name) => !first.includes(name)).sort()])]
}

/** Turns `requestedSchema` into a list of fields, in the order to show. */
export function fieldsOf(schema, shown) {
  const properties = isRecord(schema) && isRecord(schema.properties) ? schema.properties : {}
  const required = isRecord(schema) && Array.isArray(schema.required) ? schema.required : []
  return orderNames(Object.keys(properties), required, shown).map((name) => {
    const raw = properties[name]
    const property = isRecord(raw) ? raw : {}
    const own = optionsOf(property)
    const kind = kindOf(property, own)
    return {
      name,
      kind,
      schema: property,
      options: kind === 'choices' ? optionsOf(property.items) : own,
      label: text(property.title) ?? name,
      description: text(property.description),
      required: required.includes(name),
    }
  })
}

/** The control type that fits a string's `format`. */
export function inputType(field) {
  switch (field.schema.format) {
    case 'email':
      return 'email'
    case 'uri':
      return 'url'
    case 'date':
      return 'date'
    case 'date-time':
      return 'datetime-local'
    default:
      return 'text'
  }
}

/** A point in time as the control wants it: local, to the second. */
export function toLocalTime(value) {
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return ''
  const two = (n) => String(n).padStart(2, '0')
  return (
    `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}` +
    `T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  )
}

/** What the controls hold before anything is typed. Choices hold indexes. */
export function initialValues(fields) {
  return Object.fromEntries(
    fields.map((field) => {
      const preset = field.schema.default
      const index = (value) => field.options.findIndex((option) => option.value === value)
      switch (field.kind) {
        case 'boolean':
          return [field.name, preset === true]
        case 'choice':
          return [field.name, index(preset) < 0 ? '' : String(index(preset))]
        case 'choices':
          return [
            field.name,
            Array.isArray(preset) ? preset.map(index).filter((i) => i >= 0).map(String) : [],
          ]
        case 'json':
          return [field.name, preset === undefined ? '' : JSON.stringify(preset)]
        case 'string':
          if (typeof preset !== 'string') return [field.name, '']
          return [field.name, inputType(field) === 'datetime-local' ? toLocalTime(preset) : preset]
        default:
          return [field.name, typeof preset === 'number' ? String(preset) : '']
      }
    }),
  )
}

const count = (n, one, many) => `${n} ${n === 1 ? one : many}`

function checkString(field, value) {
  const { minLength, maxLength, format, pattern } = field.schema
  const length = [...value].length
  if (typeof minLength === 'number' && length < minLength) {
    return `Use at least ${count(minLength, 'character', 'characters')}.`
  }
  if (typeof maxLength === 'number' && length > maxLength) {
    return `Use at most ${count(maxLength, 'character', 'characters')} (now ${length}).`
  }
  if (typeof pattern === 'string') {
    try {
      if (!new RegExp(pattern, 'u').test(value)) return `Does not match the pattern ${pattern}.`
    } catch {
      // A pattern this engine cannot read is the server's to check.
    }
  }
  if (format === 'email' && !/^[^\s@]+@[^\s@]+$/.test(value)) {
    return 'Write an e-mail address, like name@example.org.'
  }
  if (format === 'uri' && !URL.canParse(value)) {
    return 'Write a full address, like https://example.org/.'
  }
  if (format === 'date') {
    const date = /^\d{4}-\d{2}-\d{2}$/.test(value) ? new Date(`${value}T00:00:00Z`) : undefined
    if (!date || Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== value) {
      return 'Write a date as year-month-day, like 2030-01-31.'
    }
  }
  return undefined
}

function checkNumber(field, value) {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = field.schema
  if (field.kind === 'integer' && !Number.isSafeInteger(value)) return 'Write a whole number.'
  if (typeof minimum === 'number' && value < minimum) return `Use ${minimum} or more.`
  if (typeof maximum === 'number' && value > maximum) return `Use ${maximum} or less.`
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) {
    return `Use more than ${exclusiveMinimum}.`
  }
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) {
    return `Use less than ${exclusiveMaximum}.`
  }
  if (typeof multipleOf === 'number' && multipleOf > 0) {
    const steps = value / multipleOf
    if (Math.abs(steps - Math.round(steps)) > 1e-9) return `Use a multiple of ${multipleOf}.`
  }
  return undefined
}

const REQUIRED = 'This is required.'

/** Reads one control: `{value}` to send, `{}` to leave out, or `{error}`. */
function readField(field, held) {
  switch (field.kind) {
    case 'boolean':
      return { value: held === true }
    case 'choice': {
      if (held === '' || held === undefined) return field.required ? { error: 'Choose one.' } : {}
      const option = field.options[Number(held)]
      return option ? { value: option.value } : { error: 'Choose one of the list.' }
    }
    case 'choices': {
      const picked = Array.isArray(held) ? held : []
      const { minItems, maxItems } = field.schema
      if (picked.length === 0 && !field.required) return {}
      if (picked.length === 0 && !(minItems > 0)) return { value: [] }
      if (typeof minItems === 'number' && picked.length < minItems) {
        return { error: `Choose at least ${minItems}.` }
      }
      if (typeof maxItems === 'number' && picked.length > maxItems) {
        return { error: `Choose at most ${maxItems}.` }
      }
      const chosen = field.options.filter((_option, i) => picked.includes(String(i)))
      return { value: chosen.map((option) => option.value) }
    }
    case 'json': {
      if (typeof held !== 'string' || held.trim() === '') {
        return field.required ? { error: REQUIRED } : {}
      }
      const parsed = parseJson(held)
      return 'error' in parsed ? parsed : { value: parsed.value }
    }
    case 'number':
    case 'integer': {
      const typed = String(held ?? '').trim()
      if (typed === '') return field.required ? { error: REQUIRED } : {}
      const value = Number(typed)
      if (!Number.isFinite(value)) {
        return { error: field.kind === 'integer' ? 'Write a whole number.' : 'Write a number.' }
      }
      const error = checkNumber(field, value)
      return error ? { error } : { value }
    }
    default: {
      const typed = String(held ?? '')
      if (typed === '') return field.required ? { error: REQUIRED } : {}
      if (inputType(field) === 'datetime-local') {
        const date = new Date(typed)
        if (Number.isNaN(date.getTime())) return { error: 'Choose a date and a time.' }
        return { value: date.toISOString() }
      }
      const error = checkString(field, typed)
      return error ? { error } : { value: typed }
    }
  }
}

/** Checks all controls: `{errors}` by field name, and `{values}` to send. */
export function readForm(fields, held) {
  const errors = []
  const values = []
  for (const field of fields) {
    const read = readField(field, held[field.name])
    if ('error' in read) errors.push([field.name, read.error])
    else if ('value' in read) values.push([field.name, read.value])
  }
  return { errors: Object.fromEntries(errors), values: Object.fromEntries(values) }
}

/**
 * The payload for the filled-in values. A form that itself has a field named
 * `action` could be read as a whole answer, so it is wrapped into one.
 */
export function formAnswer(fields, values) {
  return fields.some((field) => field.name === 'action')
    ? { action: 'accept', content: values }
    : values
}

/** Parses JSON typed by hand; `{value}` or `{error}`. */
export function parseJson(typed) {
  try {
    return { value: JSON.parse(typed) }
  } catch (error) {
    return { error: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
}
