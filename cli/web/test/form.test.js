import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldsOf, formAnswer, initialValues, orderNames, parseJson, readForm, toLocalTime } from '../src/lib/form.js'

function form(properties, required = []) {
  return fieldsOf({ type: 'object', properties, required })
}
function read(properties, held, required) {
  const fields = form(properties, required)
  return readForm(fields, { ...initialValues(fields), ...held })
}

test('fields come in the order in which the question arrived, when that is known', () => {
  const schema = { properties: { a: {}, b: {}, c: {} }, required: ['b'] }
  assert.deepEqual(fieldsOf(schema, ['c', 'a', 'b']).map((f) => f.name), ['c', 'a', 'b'])
})

test('else required fields come first, in their order, then the others by name', () => {
  assert.deepEqual(orderNames(['a', 'b', 'c', 'd'], ['d', 'b', 'gone', 'd']), ['d', 'b', 'a', 'c'])
  assert.deepEqual(orderNames(['b', 'a'], [], ['b', 'x']), ['a', 'b'])
})

test('a schema without properties has no fields', () => {
  assert.deepEqual(fieldsOf(undefined), [])
  assert.deepEqual(fieldsOf({ properties: [] }), [])
})

test('each kind of property gets its control', () => {
  const fields = form({
    a: { type: 'string' },
    b: { type: 'integer' },
    c: { type: 'number' },
    d: { type: 'boolean' },
    e: { type: 'string', enum: ['x'] },
    f: { type: 'string', oneOf: [{ const: 'x', title: 'X' }] },
    g: { type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] } },
    h: { type: 'object' },
    i: 'nonsense',
    j: { type: ['string', 'null'] },
  })
  assert.deepEqual(
    fields.map((f) => f.kind),
    ['string', 'integer', 'number', 'boolean', 'choice', 'choice', 'choices', 'json', 'json', 'string'],
  )
})

test('choices show their titles, legacy names or values', () => {
  const [titled, legacy, plain] = form({
    a: { type: 'string', oneOf: [{ const: 'x', title: 'Ex' }, { const: 'y' }] },
    b: { type: 'string', enum: ['x', 'y'], enumNames: ['Ex'] },
    c: { type: 'string', enum: ['x'] },
  })
  assert.deepEqual(titled.options, [{ value: 'x', label: 'Ex' }, { value: 'y', label: 'y' }])
  assert.deepEqual(legacy.options.map((o) => o.label), ['Ex', 'y'])
  assert.deepEqual(plain.options.map((o) => o.label), ['x'])
})

test('defaults are filled in and sent when untouched', () => {
  const properties = {
    a: { type: 'string', default: 'hi' },
    b: { type: 'integer', default: 0 },
    c: { type: 'boolean', default: true },
    d: { type: 'string', enum: ['x', 'y'], default: 'y' },
    e: { type: 'array', items: { enum: ['x', 'y'] }, default: ['y'] },
  }
  assert.deepEqual(read(properties, {}), {
    errors: {},
    values: { a: 'hi', b: 0, c: true, d: 'y', e: ['y'] },
  })
})

test('optional fields left empty are left out, a checkbox is not', () => {
  const properties = {
    a: { type: 'string' },
    b: { type: 'number' },
    c: { type: 'boolean' },
    d: { enum: ['x'] },
    e: { type: 'array', items: { enum: ['x'] } },
    f: { type: 'object' },
  }
  assert.deepEqual(read(properties, {}).values, { c: false })
})

test('required fields left empty are errors', () => {
  const properties = { a: { type: 'string' }, b: { type: 'number' }, d: { enum: ['x'] }, f: { type: 'object' } }
  const { errors, values } = read(properties, {}, ['a', 'b', 'd', 'f'])
  assert.deepEqual(Object.keys(errors).sort(), ['a', 'b', 'd', 'f'])
  assert.deepEqual(values, {})
})

test('a required list may be empty unless it has a least size', () => {
  assert.deepEqual(read({ a: { type: 'array', items: { enum: ['x'] } } }, {}, ['a']).values, { a: [] })
  assert.match(
    read({ a: { type: 'array', minItems: 1, items: { enum: ['x'] } } }, {}, ['a']).errors.a,
    /at least 1/,
  )
})

test('list sizes are checked and values keep the order of the schema', () => {
  const a = { type: 'array', maxItems: 2, items: { enum: ['x', 'y', 'z'] } }
  assert.match(read({ a }, { a: ['0', '1', '2'] }).errors.a, /at most 2/)
  assert.deepEqual(read({ a }, { a: ['2', '0'] }).values, { a: ['x', 'z'] })
})

test('string lengths count characters, not code units', () => {
  const a = { type: 'string', minLength: 2, maxLength: 2 }
  assert.deepEqual(read({ a }, { a: '🦀🦀' }).values, { a: '🦀🦀' })
  assert.match(read({ a }, { a: '🦀' }).errors.a, /at least 2 characters/)
  assert.match(read({ a }, { a: 'abc' }).errors.a, /at most 2 characters/)
})

for (const [format, good, bad] of [
  ['email', 'a@b.org', 'a b@c'],
  ['uri', 'https://a.org/x', 'a.org'],
  ['date', '2028-02-29', '2027-02-29'],
]) {
  test(`the format ${format} is checked`, () => {
    const a = { type: 'string', format }
    assert.deepEqual(read({ a }, { a: good }).values, { a: good })
    assert.equal(typeof read({ a }, { a: bad }).errors.a, 'string')
  })
}

test('a date and time is sent with its zone and shown in local time', () => {
  const a = { type: 'string', format: 'date-time', default: '2030-01-02T10:00:00Z' }
  assert.deepEqual(read({ a }, {}).values, { a: '2030-01-02T10:00:00.000Z' })
  assert.match(toLocalTime('2030-01-02T10:00:00Z'), /^2030-01-0[123]T\d\d:\d\d:00$/)
  assert.equal(toLocalTime('soon'), '')
})

test('patterns are checked, and one that cannot be read is left to the server', () => {
  assert.match(read({ a: { type: 'string', pattern: '^x' } }, { a: 'y' }).errors.a, /pattern/)
  assert.deepEqual(read({ a: { type: 'string', pattern: '(' } }, { a: 'y' }).values, { a: 'y' })
})

test('numbers are read and bounded', () => {
  const number = { type: 'number', minimum: 1, exclusiveMaximum: 10, multipleOf: 0.1 }
  assert.deepEqual(read({ a: number }, { a: ' 2.3 ' }).values, { a: 2.3 })
  for (const typed of ['0.5', '10', '2.35', 'two', '1e999']) {
    assert.equal(typeof read({ a: number }, { a: typed }).errors.a, 'string', typed)
  }
  assert.match(read({ a: { type: 'integer' } }, { a: '1.5' }).errors.a, /whole/)
  assert.match(read({ a: { type: 'integer' } }, { a: '9007199254740993' }).errors.a, /whole/)
})

test('values of a choice keep their type', () => {
  assert.deepEqual(read({ a: { enum: [1, 2] } }, { a: '1' }).values, { a: 2 })
})

test('a field may have any name', () => {
  const { values } = read(JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}'), {
    ['__proto__']: 'x',
    constructor: 'y',
  })
  assert.equal(JSON.stringify(values), '{"__proto__":"x","constructor":"y"}')
})

test('an answer that could be read as a decision is wrapped', () => {
  const fields = form({ action: { type: 'string' } })
  assert.deepEqual(formAnswer(fields, { action: 'decline' }), {
    action: 'accept',
    content: { action: 'decline' },
  })
  assert.deepEqual(formAnswer(form({ city: {} }), { city: 'Oslo' }), { city: 'Oslo' })
})

test('JSON typed by hand is a value or a sentence', () => {
  assert.deepEqual(parseJson('null'), { value: null })
  assert.match(parseJson('{').error, /not JSON/)
})
